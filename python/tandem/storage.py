"""`tandem.storage`: the memory behind tensors."""

from tandem._support import Storage as Storage
from tandem._support import TypedStorage as TypedStorage
from tandem._support import UntypedStorage as UntypedStorage
