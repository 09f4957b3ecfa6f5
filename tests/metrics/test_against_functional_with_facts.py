"""Metrics that know more than lists and truth, against their plain-Python twins."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from strategies import examples, fewer, worlds

K = st.integers(1, 12)


def cosine(first, second):
    product = sum(a * b for a, b in zip(first, second, strict=True))
    length = math.hypot(*first) * math.hypot(*second)
    return product / length if length else 0.0


def together(world):
    """The cosine of two items' sets of training users."""
    users = {i: {u for u, own in world.train.items() if i in own} for i in world.catalogue}

    def alike(a, b):
        size = math.sqrt(len(users[a]) * len(users[b]))
        return len(users[a] & users[b]) / size if size else 0.0

    return alike


def candidates(world, user):
    """The catalogue less what was seen and is neither listed nor relevant."""
    kept = {*world.lists.get(user, ()), *world.relevant.get(user, ())}
    return [i for i in world.catalogue if i in kept or i not in world.train.get(user, ())]


def propensities(world, **options):
    return fn.popularity_propensities(world.popularity, world.catalogue, **options)


def given_propensities(world):
    return {item: max(chance, 0.1) for item, chance in world.propensity.items()}


def stratified(world, gamma):
    weights = fn.stratified_weights(world.popularity, world.catalogue, gamma=gamma)
    return {item: 1 / weight for item, weight in weights.items()}


def contributions(kind, world, user, k):
    """What each relevant item adds to a metric, worked out item by item."""
    items, relevant = listed(world, user), wanted(world, user)
    grades = {item: known(world, user)[item] for item in relevant}
    out = {}
    for item in relevant:
        rank = items.index(item) + 1 if item in items else None
        near = rank is not None and rank <= k
        alone = {item: grades[item]}
        if kind == "recall":
            out[item] = near / len(relevant)
        elif kind == "precision":
            out[item] = near / k
        elif kind == "ndcg":
            ideal = fn.dcg(sorted(grades, key=lambda i: -grades[i]), grades, k)
            out[item] = fn.dcg(items, alone, k) / ideal
        elif kind == "map":
            at = fn.precision_at_k(items, relevant, rank) if near else 0.0
            out[item] = at / min(len(relevant), k)
        elif kind == "gauc":
            pool = [i for i in candidates(world, user) if i not in relevant]
            above = sum(i not in relevant for i in items[: rank - 1]) if rank else 0
            rest = len(pool) - sum(i not in relevant for i in items)
            won = len(pool) - above if rank else rest / 2
            out[item] = won / len(pool) / len(relevant) if pool else math.nan
            out[item] = out[item] if items else 0.0
    return out


def n_users(world):
    return len(world.train)


def n_rows(world):
    return sum(world.popularity.values())


def listed(world, user):
    return list(world.lists.get(user, []))


def wanted(world, user):
    return world.relevant.get(user, set())


def known(world, user):
    return world.truth.get(user, {})


def group_shares(world, target):
    sizes = Counter(world.item_groups.values())
    if target == "equal":
        return dict.fromkeys(sizes, 1 / len(sizes))
    return {group: n / sum(sizes.values()) for group, n in sizes.items()}


def capped(world, user, k):
    hits = len({*listed(world, user)[:k]} & wanted(world, user))
    return hits, min(k, len(wanted(world, user)))


def ndcg_and_recall(world, user, k):
    """NaN without relevant items, where the plain functions are 0."""
    if not wanted(world, user):
        return [math.nan, math.nan]
    return [
        fn.ndcg_at_k(listed(world, user), known(world, user), k),
        fn.recall_at_k(listed(world, user), wanted(world, user), k),
    ]


# A twin takes (world, user, k) and gives the value of one user.
TWINS = {
    "bpref": lambda w, u, k: fn.bpref(listed(w, u), known(w, u)),
    "bpref(without_judged=undefined)": lambda w, u, k: fn.bpref(
        listed(w, u), known(w, u), without_judged="undefined"
    ),
    "bpref(negative_grades=unjudged)": lambda w, u, k: fn.bpref(
        listed(w, u), known(w, u), negative_grades="unjudged"
    ),
    "bpref(negative_grades=unjudged,without_judged=undefined)": lambda w, u, k: fn.bpref(
        listed(w, u), known(w, u), without_judged="undefined", negative_grades="unjudged"
    ),
    **{
        f"{name}(negatives={n})": lambda w, u, k, twin=twin, n=n: twin(
            listed(w, u), wanted(w, u), candidates(w, u), negatives=n
        )
        for name, twin in (("auc", fn.auc), ("gauc", fn.auc))
        for n in ("exact", "one_more")
    },
    "gauc(seen=included)": lambda w, u, k: fn.auc(listed(w, u), wanted(w, u), w.catalogue),
    "lauc": lambda w, u, k: fn.limited_auc_at_k(listed(w, u), wanted(w, u), candidates(w, u), k),
    "lauc(seen=included,negatives=one_more)": lambda w, u, k: fn.limited_auc_at_k(
        listed(w, u), wanted(w, u), w.catalogue, k, negatives="one_more"
    ),
    "partial_auc": lambda w, u, k: fn.partial_auc_at_k(listed(w, u), wanted(w, u), k),
    "partial_auc(positives=top)": lambda w, u, k: fn.partial_auc_at_k(
        listed(w, u), wanted(w, u), k, positives="top"
    ),
    **{
        f"{name}(popularity={p},relevance={r})": lambda w, u, k, twin=twin, p=p, r=r: twin(
            listed(w, u),
            known(w, u),
            k,
            popularity=w.popularity,
            total=n_users(w) if p == "users" else n_rows(w),
            relevance=r,
        )
        for name, twin in (("efd", fn.efd_at_k), ("epc", fn.epc_at_k))
        for p in ("users", "interactions")
        for r in ("binary", "discounted", "discounted_plus_one")
    },
    **{
        f"novelty(popularity={p},discount={d},denominator={n})": lambda w, u, k, p=p, d=d, n=n: (
            fn.novelty_at_k(
                listed(w, u),
                k,
                popularity=w.popularity,
                total=n_users(w) if p == "users" else n_rows(w),
                discount=d,
                denominator=n,
            )
        )
        for p in ("users", "interactions")
        for d in ("none", "log")
        for n in ("length", "k")
    },
    **{
        f"surprisal(denominator={n})": lambda w, u, k, n=n: fn.surprisal_at_k(
            listed(w, u), k, popularity=w.popularity, n_users=n_users(w), denominator=n
        )
        for n in ("length", "k")
    },
    **{
        f"novelty(cold={c},discount={d},denominator={n})": lambda w, u, k, c=c, d=d, n=n: (
            fn.novelty_at_k(
                listed(w, u),
                k,
                popularity=w.popularity,
                total=n_users(w),
                discount=d,
                denominator=n,
                cold=c,
            )
        )
        for c in ("skip", "zero")
        for d in ("none", "log")
        for n in ("length", "k")
    },
    **{
        f"surprisal(cold={c})": lambda w, u, k, c=c: fn.surprisal_at_k(
            listed(w, u), k, popularity=w.popularity, n_users=n_users(w), cold=c
        )
        for c in ("skip", "zero")
    },
    "popularity_quantile": lambda w, u, k: fn.popularity_quantile_at_k(
        listed(w, u), w.popularity, k
    ),
    "category_entropy": lambda w, u, k: fn.category_entropy_at_k(listed(w, u), w.genres, k),
    "category_entropy(log_base=2)": lambda w, u, k: fn.category_entropy_at_k(
        listed(w, u), w.genres, k, log_base=2
    ),
    "category_entropy(smoothing=0.001)": lambda w, u, k: fn.category_entropy_at_k(
        listed(w, u), w.genres, k, smoothing=0.001
    ),
    "category_entropy(weight=geometric,patience=0.85)": lambda w, u, k: fn.category_entropy_at_k(
        listed(w, u), w.genres, k, weight="geometric", patience=0.85
    ),
    "category_count(as_share=true)": lambda w, u, k: fn.category_count_at_k(
        listed(w, u), w.genres, k, as_share=True
    ),
    "category_count": lambda w, u, k: fn.category_count_at_k(listed(w, u), w.genres, k),
    **{
        f"rbo(p={p},form={f})": lambda w, u, k, p=p, f=f: fn.rbo_at_k(
            listed(w, u), w.reference.get(u, []), k, p=p, form=f
        )
        for p in (0.5, 0.9)
        for f in ("extrapolated", "lower")
    },
    **{
        f"awrf(target={t},weight={weight},distance={d})": (
            lambda w, u, k, t=t, weight=weight, d=d: fn.awrf_at_k(
                listed(w, u), w.item_groups, group_shares(w, t), k, weight=weight, distance=d
            )
        )
        for t in ("catalogue", "equal")
        for weight in ("log", "geometric")
        for d in ("absolute", "squared")
    },
    **{
        f"ee_{letter}(patience={p})": lambda w, u, k, letter=letter, p=p: fn.expected_exposure_at_k(
            {u: listed(w, u)}, {u: wanted(w, u)}, w.item_groups, k, patience=p
        )[{"l": "loss", "d": "disparity", "r": "relevance"}[letter]]
        for letter in "ldr"
        for p in (0.5, 0.85)
    },
    "condensed(ndcg)": lambda w, u, k: fn.ndcg_at_k(
        fn.condensed(listed(w, u), known(w, u)), known(w, u), k
    ),
    "condensed(map)": lambda w, u, k: fn.average_precision(
        fn.condensed(listed(w, u), known(w, u)), wanted(w, u), k
    ),
    "micro": lambda w, u, k: fn.micro([capped(w, u, k)]),
    **{
        f"aplt(ratio_of=items,pop_ratio={r})": lambda w, u, k, r=r: fn.aplt_at_k(
            listed(w, u), k, head=fn.short_head(w.popularity, r, of="items")
        )
        for r in (0.15, 0.5)
    },
    **{
        f"aplt(ratio_of=rarest_items,pop_ratio={r})": lambda w, u, k, r=r: fn.aplt_at_k(
            listed(w, u),
            k,
            head=fn.short_head(
                {i: w.popularity.get(i, 0) for i in w.catalogue}, r, of="rarest_items"
            ),
        )
        for r in (0.1, 0.5, 0.9)
    },
    **{
        f"unexpectedness(denominator={n})": lambda w, u, k, n=n: fn.unexpectedness_at_k(
            listed(w, u), w.reference.get(u, []), k, denominator=n
        )
        for n in ("length", "k")
    },
    **{
        f"overlap(denominator={n})": lambda w, u, k, n=n: fn.overlap_at_k(
            listed(w, u), w.reference.get(u, []), k, denominator=n
        )
        for n in ("length", "k", "union")
    },
    "serendipity": lambda w, u, k: fn.serendipity_at_k(
        listed(w, u), wanted(w, u), k, popularity=w.popularity, catalog_size=len(w.catalogue)
    ),
    "serendipity(form=history)": lambda w, u, k: fn.unlikeness_at_k(
        listed(w, u), w.train.get(u, ()), k, similarity=together(w), relevant=wanted(w, u)
    ),
    "serendipity(form=history,relevance=none,similarity=features)": lambda w, u, k: (
        fn.unlikeness_at_k(
            listed(w, u),
            w.train.get(u, ()),
            k,
            similarity=lambda a, b: cosine(w.features[a], w.features[b]),
        )
    ),
    **{
        f"intra_list_diversity(distance={d})": lambda w, u, k, d=d: fn.intra_list_diversity(
            listed(w, u), w.genres if d == "jaccard" else w.features, k, distance=d
        )
        for d in ("cosine", "jaccard", "euclidean", "hamming")
    },
    "intra_list_diversity(distance=cooccurrence)": lambda w, u, k: diversity_of_users(w, u, k),
    **{
        f"intra_list_diversity(single={s})": lambda w, u, k, s=s: fn.intra_list_diversity(
            listed(w, u), w.features, k, distance="cosine", single=s
        )
        for s in ("one", "skip")
    },
    **{
        f"subtopic_recall(of={of},over={over})": lambda w, u, k, of=of, over=over: (
            fn.subtopic_recall_at_k(
                listed(w, u), wanted(w, u), k, categories=w.genres, of=of, over=over
            )
        )
        for of in ("list", "hits")
        for over in ("relevant", "all")
    },
    **{
        f"alpha_ndcg(alpha={alpha})": lambda w, u, k, alpha=alpha: fn.alpha_ndcg_at_k(
            listed(w, u), wanted(w, u), k, categories=w.genres, alpha=alpha
        )
        for alpha in (0.5, 0.0, 1.0)
    },
    "calibration_error": lambda w, u, k: fn.calibration_error_at_k(
        listed(w, u), w.train.get(u, ()), k, categories=w.genres
    ),
    **{
        f"arp(denominator={n})": lambda w, u, k, n=n: fn.arp_at_k(
            listed(w, u), k, popularity=w.popularity, denominator=n
        )
        for n in ("k", "length")
    },
    "aclt(pop_ratio=0.5)": lambda w, u, k: fn.aclt_at_k(
        listed(w, u), k, head=fn.short_head(w.popularity, 0.5)
    ),
    **{
        f"aplt(denominator={n})": lambda w, u, k, n=n: fn.aplt_at_k(
            listed(w, u), k, head=fn.short_head(w.popularity), denominator=n
        )
        for n in ("k", "length")
    },
    "popularity_lift": lambda w, u, k: fn.popularity_lift_at_k(
        {u: listed(w, u)}, w.train, k, popularity=w.popularity
    ),
    **{
        name: lambda w, u, k, twin=twin, n=n, p=p: twin(
            listed(w, u), wanted(w, u), k, propensities=p(w), normalised=n
        )
        for name, twin, n, p in (
            ("ips_recall", fn.ips_recall_at_k, False, propensities),
            ("snips_recall", fn.ips_recall_at_k, True, propensities),
            ("ips_dcg(propensity=given)", fn.ips_dcg_at_k, False, given_propensities),
            (
                "snips_dcg(power=1.0,clip=0.3)",
                fn.ips_dcg_at_k,
                True,
                lambda w: propensities(w, power=1.0, clip=0.3),
            ),
            ("stratified_recall", fn.ips_recall_at_k, True, lambda w: stratified(w, 1.0)),
            (
                "stratified_recall(gamma=2.0)",
                fn.ips_recall_at_k,
                True,
                lambda w: stratified(w, 2.0),
            ),
        )
    },
    **{
        name: lambda w, u, k, kind=kind, normalised=normalised, chances=chances: fn.weighted_sum(
            contributions(kind, w, u, k), chances(w), normalised=normalised
        )
        for name, kind, normalised, chances in (
            ("ips(recall)", "recall", False, propensities),
            ("ips(of=precision,clip=0.5)", "precision", False, lambda w: propensities(w, clip=0.5)),
            ("ips(of=ndcg,propensity=given)", "ndcg", False, given_propensities),
            ("snips(ndcg)", "ndcg", True, propensities),
            ("snips(of=map,power=1.0)", "map", True, lambda w: propensities(w, power=1.0)),
            ("snips(gauc)", "gauc", True, propensities),
            ("stratified(recall)", "recall", True, lambda w: stratified(w, 1.0)),
            ("stratified(of=ndcg,gamma=2.0)", "ndcg", True, lambda w: stratified(w, 2.0)),
        )
    },
    "repeated": lambda w, u, k: fn.repeated_at_k(listed(w, u), w.train.get(u, ()), k),
    "hole": lambda w, u, k: fn.hole_at_k(
        listed(w, u), {item for own in w.truth.values() for item in own}, k
    ),
    "validity": lambda w, u, k: fn.validity_at_k(listed(w, u), w.around["items"]["item"], k),
    "cold_item_share": lambda w, u, k: fn.cold_item_share_at_k(listed(w, u), w.popularity, k),
    "unsatisfied": lambda w, u, k: fn.unsatisfied_at_k(listed(w, u), k),
    "euclidean_distance": lambda w, u, k: fn.euclidean_distance(ndcg_and_recall(w, u, k), [1, 1]),
    "hypervolume": lambda w, u, k: fn.hypervolume(ndcg_and_recall(w, u, k), [0, 0], [True, True]),
}


def diversity_of_users(world, user, k):
    """Return the diversity by training users; NaN for several items of which none has any."""
    items = listed(world, user)[:k]
    if len(items) > 1 and not {*items} & {*world.popularity}:
        return math.nan
    numbers = {item: item for item in world.catalogue}
    return fn.intra_list_diversity(
        items, numbers, k, distance=lambda a, b: 1 - together(world)(a, b)
    )


def same(ours, theirs):
    return ours == pytest.approx(theirs, rel=1e-9, abs=1e-10, nan_ok=True)


def at(name, k):
    metric = rw.parse(name)
    none = "none" in (metric.cutoff, getattr(getattr(metric, "of", None), "cutoff", ""))
    return str(metric if none else metric @ k)


def check_every_user(names, world, k):
    cells = {name: at(name, k) for name in names}
    result = rw.evaluate(
        world.lists, world.truth, [*dict.fromkeys(cells.values())], population="all", **world.around
    )
    for name, cell in cells.items():
        about = getattr(rw.parse(name), "defined_for", "")
        for user, own in zip(result.per_user["user"], result.per_user[cell], strict=True):
            expected = TWINS[name](world, user, k)
            nothing = not wanted(world, user) if about == "relevance" else not listed(world, user)
            if about in ("relevance", "list") and nothing:
                expected = math.nan
            assert same(own, expected), (name, user, own, expected)


@fewer(30)
@given(worlds(judged=True), K)
def test_every_user(world, k):
    """All metrics in one evaluation, so that each sees many worlds."""
    check_every_user(TWINS, world, k)


@pytest.mark.parametrize("name", TWINS)
@examples(3)
@given(worlds(judged=True), K)
def test_every_user_of_one_metric(name, world, k):
    """Alone: a metric that forgets to declare an input is right beside others that declare it."""
    check_every_user([name], world, k)


@given(worlds(judged=True))
def test_auc_weighs_users_by_their_relevant_items(world):
    result = rw.evaluate(
        world.lists, world.truth, ["auc", "gauc"], population="all", **world.around
    )
    values = [
        (v, n)
        for v, n in zip(result.per_user["auc"], result.per_user["n_relevant"], strict=True)
        if not math.isnan(v)
    ]
    weight = sum(n for _, n in values)
    expected = sum(v * n for v, n in values) / weight if weight else math.nan
    assert same(result["auc"], expected)
    mean = sum(v for v, _ in values) / len(values) if values else math.nan
    assert same(result["gauc"], mean)


# A twin takes (world, k) and gives the value of all users, or the cells.
def heads(world):
    head = fn.short_head(world.popularity, 0.5)
    return {item: "short_head" if item in head else "long_tail" for item in world.catalogue}


def spread_of_two(cells):
    return fn.relative_spread(cells.values()) if len(cells) == 2 else math.nan


def rates(world, k, of="hits"):
    groups = heads(world)
    return fn.reo_at_k(world.lists, world.relevant, k, groups=groups, of=of)


def parity(world, k, *, seen=False):
    groups = heads(world)
    cells = fn.rsp_at_k(
        world.lists, k, groups=groups, history=world.train, seen="excluded" if seen else "included"
    )
    sizes = Counter(groups.values())
    users = len(world.lists)
    return cells if seen else {g: rate * users for g, rate in cells.items() if sizes[g]}


def lift(world, k):
    return fn.popularity_lift_at_k(world.lists, world.train, k, popularity=world.popularity)


def source(world):
    return fn.preference_ratios(
        world.train,
        user_groups=world.user_groups,
        item_groups=world.item_groups,
        catalog_size=len(world.catalogue),
    )


def shown(world, k):
    return fn.preference_ratios(
        {u: own[:k] for u, own in world.lists.items()},
        user_groups=world.user_groups,
        item_groups=world.item_groups,
        catalog_size=len(world.catalogue),
    )


def liked(world):
    return fn.preference_ratios(
        world.relevant,
        user_groups=world.user_groups,
        item_groups=world.item_groups,
        catalog_size=len(world.catalogue),
    )


def pairs(cells):
    return {f"user_group={u},item_group={c}": value for (u, c), value in cells.items()}


def one_group(cells):
    return {f"item_group={name}": value for name, value in cells.items()}


def with_main(value, cells):
    return {"": value(cells), **one_group(cells)}


def mean_of_items(cells):
    return fn.mean_difference(cells.values())


WHOLE = {
    "personalization": lambda w, k: {"": fn.personalization_at_k(w.lists, k)},
    "popularity_lift": lambda w, k: {"": lift(w, k)},
    "pop_rsp(pop_ratio=0.5)": lambda w, k: with_main(spread_of_two, parity(w, k)),
    "pop_rsp(pop_ratio=0.5,denominator=available)": lambda w, k: with_main(
        spread_of_two, parity(w, k, seen=True)
    ),
    "pop_reo(pop_ratio=0.5)": lambda w, k: with_main(spread_of_two, rates(w, k)),
    "pop_reo(pop_ratio=0.5,of=recommended)": lambda w, k: with_main(
        spread_of_two,
        fn.reo_at_k(
            w.lists,
            {**dict.fromkeys(w.lists, ()), **w.relevant},
            k,
            groups=heads(w),
            of="recommended",
        ),
    ),
    "reo": lambda w, k: with_main(
        lambda cells: fn.relative_spread(cells.values()),
        fn.reo_at_k(w.lists, w.relevant, k, groups=w.item_groups),
    ),
    "rsp": lambda w, k: with_main(
        lambda cells: fn.relative_spread(cells.values()),
        fn.rsp_at_k(w.lists, k, groups=w.item_groups, history=w.train),
    ),
    "rsp(seen=included)": lambda w, k: with_main(
        lambda cells: fn.relative_spread(cells.values()),
        fn.rsp_at_k(w.lists, k, groups=w.item_groups, seen="included"),
    ),
    "bias_disparity_source": lambda w, k: pairs(source(w)),
    "bias_disparity_source(interactions=truth)": lambda w, k: pairs(liked(w)),
    "bias_disparity_recommendation": lambda w, k: pairs(shown(w, k)),
    "bias_disparity": lambda w, k: pairs(fn.bias_disparity(shown(w, k), source(w))),
    "bias_disparity(interactions=truth)": lambda w, k: pairs(
        fn.bias_disparity(shown(w, k), liked(w))
    ),
    **{
        f"item_mad_ranking(gain={g},discount={d})": lambda w, k, g=g, d=d: with_main(
            mean_of_items,
            fn.item_mad_ranking(w.lists, w.truth, k, groups=w.item_groups, gain=g, discount=d),
        )
        for g in ("linear", "exponential_plus_one")
        for d in ("log", "none")
    },
}


def check_all_users(names, world, k):
    cells = {name: at(name, k) for name in names}
    result = rw.evaluate(
        world.lists, world.truth, [*dict.fromkeys(cells.values())], population="all", **world.around
    )
    for name, cell in cells.items():
        expected = WHOLE[name](world, k)
        labels = {
            key: key.removeprefix(cell).strip("[]")
            for key in result.values
            if key.partition("[")[0] == cell
        }
        ours = {label: result.values[key] for key, label in labels.items()}
        for (
            label,
            value,
        ) in ours.items():  # a group of which nothing is known is no cell of the twin
            assert same(value, expected.get(label, math.nan)), (name, label, value, expected)
        assert {label for label, value in expected.items() if not math.isnan(value)} <= set(ours)


@fewer(30)
@given(worlds(judged=True), K)
def test_all_users(world, k):
    check_all_users(WHOLE, world, k)


@pytest.mark.parametrize("name", WHOLE)
@examples(3)
@given(worlds(judged=True), K)
def test_all_users_of_one_metric(name, world, k):
    check_all_users([name], world, k)


@given(worlds(judged=True), K)
def test_groups_of_users(world, k):
    cells = [f"group_gap(precision)@{k}", f"group_ratio(precision)@{k}", f"user_mad_ranking@{k}"]
    result = rw.evaluate(world.lists, world.truth, cells, population="all", **world.around)
    users = [user for user in result.per_user["user"] if wanted(world, user)]
    precision = {u: fn.precision_at_k(listed(world, u), wanted(world, u), k) for u in users}
    ndcg = {u: fn.ndcg_at_k(listed(world, u), known(world, u), k) for u in users}
    means = fn.group_means(precision, world.user_groups)
    low, high = min(means.values()), max(means.values())
    both = len(means) > 1
    assert same(result[cells[0]], high - low if both else math.nan)
    assert same(result[cells[1]], low / high if both and high else math.nan)
    by_ndcg = fn.group_means(ndcg, world.user_groups)
    assert same(result[cells[2]], fn.mean_difference(by_ndcg.values()))
    for name, mean in by_ndcg.items():
        assert same(result[f"{cells[2]}[user_group={name}]"], mean)


@given(worlds(scores=True, judged=True), K)
def test_scores(world, k):
    place = world.place
    lists = {u: {i: s + place[i] / 50 for i, s in own.items()} for u, own in world.lists.items()}
    cells = [
        f"item_mad_rating@{k}",
        f"user_mad_rating@{k}",
        f"mean_score@{k}",
        f"item_mad_rating(misses=zero)@{k}",
    ]
    result = rw.evaluate(lists, world.truth, cells, population="all", **world.around)
    ranked = {u: sorted(own.items(), key=lambda pair: -pair[1]) for u, own in lists.items()}
    of_items = fn.item_mad_rating(ranked, world.relevant, k, groups=world.item_groups)
    assert same(result[cells[0]], fn.mean_difference(of_items.values()))
    for name, mean in of_items.items():
        assert same(result[f"{cells[0]}[item_group={name}]"], mean)
    zeros = fn.item_mad_rating(ranked, world.relevant, k, groups=world.item_groups, misses="zero")
    assert same(result[f"item_mad_rating(misses=zero)@{k}"], fn.mean_difference(zeros.values()))
    means = {u: sum(s for _, s in own[:k]) / len(own[:k]) for u, own in ranked.items()}
    for user, own in zip(result.per_user["user"], result.per_user[cells[2]], strict=True):
        assert same(own, means.get(user, math.nan))
    of_users = fn.group_means(means, world.user_groups)
    assert same(result[cells[1]], fn.mean_difference(of_users.values()))


@given(worlds(), st.data())
def test_duplicate_rate(world, data):
    lists = {
        user: own + data.draw(st.lists(st.sampled_from(own), max_size=4))
        for user, own in world.lists.items()
    }
    result = rw.evaluate(
        lists, world.truth, "duplicate_rate", population="recommended", duplicates="first"
    )
    for user, own in zip(result.per_user["user"], result.per_user["duplicate_rate"], strict=True):
        assert own == pytest.approx(1 - len(set(lists[user])) / len(lists[user]))
    assert result.counts.get("duplicates_dropped", 0) == sum(
        len(own) - len(set(own)) for own in lists.values()
    )


ELSEWHERE = {
    "group_gap",
    "group_ratio",
    "user_mad_ranking",
    "user_mad_rating",
    "item_mad_rating",
    "mean_score",
    "duplicate_rate",
}


def twins():
    """The metrics that this file holds against a twin."""
    return {rw.parse(name).name for name in (*TWINS, *WHOLE)} | ELSEWHERE
