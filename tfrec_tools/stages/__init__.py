"""The stages of a conversion, the same on every engine; engines only carry data between them.

list_units(request)                      → units
list_unit(request, unit)                 → listed batches
survey(request, listed batch)            → survey, merged with `merge`
resolve(request, survey)                 → plan
place(plan, unit, files)                 → files with split, shard and rank
write_shard(plan, shard, placed files)   → shard result
publish(plan, survey, shard results)     → manifest, and a dataset
"""

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
    refuse_dataset,
    remove_useless,
    staging_folder,
)
from tfrec_tools.stages.shard_writing import finished_shard, write_shard

__all__ = [
    "PlacedEntry",
    "claimed_output",
    "failure",
    "finished_shard",
    "list_unit",
    "list_units",
    "merge",
    "place",
    "placed_entries",
    "placed_table",
    "prepare_output",
    "publish",
    "refuse_dataset",
    "remove_useless",
    "resolve",
    "shard_files_of",
    "sorted_by_shard",
    "staging_folder",
    "survey",
    "write_shard",
]
