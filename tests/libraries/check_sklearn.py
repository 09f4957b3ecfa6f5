"""The score function for scikit-learn: a search over rankers, with queries by metadata routing."""

import numpy as np
import pytest
import sklearn
from ranked_rows import queries, rows
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold

from rankwise.rankers import RankerTruth, SklearnMetric


def test_a_search_scores_every_fold_by_query():
    features, labels, sizes = rows("train")
    qid = queries(sizes)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(SklearnMetric("ndcg@5")).set_score_request(qid=True)
        search = GridSearchCV(
            Ridge(), {"alpha": [0.1, 1000.0]}, scoring=scorer, cv=GroupKFold(3), refit=False
        )
        search.fit(features, labels, qid=qid, groups=qid)
    means = []
    for train, test in GroupKFold(3).split(features, labels, qid):
        model = Ridge(alpha=0.1).fit(features[train], labels[train])
        truth = RankerTruth(labels[test], qid=qid[test])
        means.append(truth.values(model.predict(features[test]), "ndcg@5")["ndcg@5"])
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(means), abs=1e-12)
