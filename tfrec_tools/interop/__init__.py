"""Files beside the shards by which other tools read the dataset: TFDS and TFMD.

(DALI's and PyTorch's record index is written with each shard, by ``shard_files``.)
"""

from tfrec_tools.interop.tfds import tfds_files
from tfrec_tools.interop.tfmd import schema_pbtxt

__all__ = ["schema_pbtxt", "tfds_files"]
