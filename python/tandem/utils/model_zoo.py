"""`tandem.utils.model_zoo`: the older name of what `tandem.hub` has."""

from tandem.hub import load_state_dict_from_url as load_state_dict_from_url
from tandem.hub import tqdm as tqdm

load_url = load_state_dict_from_url
