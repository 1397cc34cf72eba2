"""`tandem.utils`: loading data."""

from tandem.utils import data as data
