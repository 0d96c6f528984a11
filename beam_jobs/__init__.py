"""Apache Beam jobs over the stage functions of ``tfrec_tools``: the same plan, the same bytes.

The only package that imports apache_beam.
"""
