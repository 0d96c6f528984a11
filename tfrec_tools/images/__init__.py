"""Images as bytes: what they are, whether they are whole, and how they are stored."""

from tfrec_tools.images.masks import prepare_mask
from tfrec_tools.images.pixels import codec_versions
from tfrec_tools.images.preparing import PreparedImage, prepare_image

__all__ = ["PreparedImage", "codec_versions", "prepare_image", "prepare_mask"]
