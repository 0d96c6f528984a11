"""The stages of a conversion, the same on every engine; engines only carry data between them.

list_units(request)                      → units
list_unit(request, unit)                 → listed batches
survey(request, listed batch)            → survey, merged with `merge`
survey_documents(request, files)         → words, merged with `merge_words`, where they are needed
resolve(request, survey)                 → plan
place(plan, unit, files)                 → files with split, shard and rank
write_shard(plan, shard, placed files)   → shard result
publish(plan, survey, shard results)     → manifest, and a dataset

Tables, of which one file holds many records:

open_table(request)                      → table: files and columns
scan(request, table, task)               → where records lie; put together with `settle`
survey_unit(request, table, needs, unit) → what the request leaves open, merged
resolve_table(request, surveyed table)   → plan
encode_unit(plan, unit, spill path)      → unit result, and a spill file
write_table_shard(plan, shard, spills, …) → shard result
publish(plan, None, shard results, unit results)
"""

from tfrec_tools.stages.document_words import (
    WordCounts,
    counted_features,
    merge_words,
    survey_documents,
    with_vocabularies,
)
from tfrec_tools.stages.listing import list_unit, list_units, merge, resolve, survey
from tfrec_tools.stages.placing import (
    PlacedEntry,
    place,
    placed_entries,
    placed_table,
    shard_files_of,
    sorted_by_shard,
)
from tfrec_tools.stages.publishing import (
    claimed_output,
    failure,
    prepare_output,
    publish,
    published,
    refuse_dataset,
    remove_useless,
    staging_folder,
)
from tfrec_tools.stages.shard_writing import (
    finished_shard,
    finished_staged_shard,
    write_shard,
)
from tfrec_tools.stages.spilling import Spill, SpilledBatch, respilled, spilled_batches
from tfrec_tools.stages.table_encoding import encode_unit
from tfrec_tools.stages.table_placing import shard_of_bin
from tfrec_tools.stages.table_reading import (
    merge_surveys,
    open_table,
    refuse_options,
    resolve_table,
    scan,
    scan_tasks,
    settle,
    survey_needs,
    survey_unit,
    units_of,
)
from tfrec_tools.stages.table_shards import table_fingerprint, write_table_shard
from tfrec_tools.stages.unit_results import UnitResult, folded, is_unknown_class

__all__ = [
    "PlacedEntry",
    "Spill",
    "SpilledBatch",
    "UnitResult",
    "WordCounts",
    "claimed_output",
    "counted_features",
    "encode_unit",
    "failure",
    "finished_shard",
    "finished_staged_shard",
    "folded",
    "is_unknown_class",
    "list_unit",
    "list_units",
    "merge",
    "merge_surveys",
    "merge_words",
    "open_table",
    "place",
    "placed_entries",
    "placed_table",
    "prepare_output",
    "publish",
    "published",
    "refuse_dataset",
    "refuse_options",
    "remove_useless",
    "resolve",
    "resolve_table",
    "respilled",
    "scan",
    "scan_tasks",
    "settle",
    "shard_files_of",
    "shard_of_bin",
    "sorted_by_shard",
    "spilled_batches",
    "staging_folder",
    "survey",
    "survey_documents",
    "survey_needs",
    "survey_unit",
    "table_fingerprint",
    "units_of",
    "with_vocabularies",
    "write_shard",
    "write_table_shard",
]
