"""The adapter of LightFM against LightFM."""

import numpy as np
from data import ITEMS, ROWS, USERS, check
from lightfm import LightFM
from lightfm.data import Dataset

import rankwise as rw


def test_models():
    data = Dataset()
    data.fit(USERS, ITEMS)
    seen, _ = data.build_interactions((u, i) for u, i, _ in ROWS)
    users, _, items, _ = data.mapping()
    model = LightFM(no_components=6, loss="warp", random_state=0)
    model.fit(seen.tocoo(), epochs=3, num_threads=1)
    item_bias, item_vector = model.get_item_representations()
    user_bias, user_vector = model.get_user_representations()

    def score(user, item):
        u, i = users[user], items[item]
        return float(item_vector[i] @ user_vector[u] + item_bias[i] + user_bias[u])

    adapter = rw.models.LightFM(model, list(users), list(items), seen=seen)
    check(adapter, score)
    check(rw.models.LightFM(model, list(users), list(items)), score, seen={})
    # Its factors are ranked as they are: what a user adds to all scores changes no list.
    ranking = rw.rank(
        users=user_vector,
        items=item_vector,
        bias=item_bias,
        k=8,
        user_ids=list(users),
        item_ids=list(items),
    )
    lists = rw.models.LightFM(model, list(users), list(items)).recommend(USERS, 8)
    for (user,), own in ranking.frame.group_by("user"):
        assert np.isin(own["item"].to_list(), [item for item, _ in lists[user]]).all()
