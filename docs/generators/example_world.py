"""The world of the worked examples: three users, eight films, one list of five each (one of them is short)."""

lists = {
    "ann": ["casino", "alien", "dune", "brazil", "evita"],
    "bob": ["alien", "heat", "casino", "gandhi", "fargo"],
    "cyd": ["heat", "dune", "casino", "gandhi"],
}
ratings = {  # predicted: scores on the scale of the ground truth, for metrics of rating error
    "ann": {"casino": 2.5, "alien": 2.0, "dune": 1.5, "brazil": 1.0, "evita": 0.5},
    "bob": {"alien": 2.5, "heat": 2.0, "casino": 1.5, "gandhi": 1.0, "fargo": 0.5},
    "cyd": {"heat": 2.0, "dune": 1.5, "casino": 1.0, "gandhi": 0.5},
}
probabilities = {  # predicted: scores that say how likely a film is to be relevant
    "ann": {"casino": 0.9, "alien": 0.8, "dune": 0.6, "brazil": 0.3, "evita": 0.1},
    "bob": {"alien": 0.7, "heat": 0.6, "casino": 0.4, "gandhi": 0.3, "fargo": 0.2},
    "cyd": {"heat": 0.5, "dune": 0.4, "casino": 0.3, "gandhi": 0.2},
}
truth = {  # held-out ratings from 0 to 3; above 0 is relevant, 0 is judged not relevant
    "ann": {"casino": 3, "alien": 0, "dune": 1, "fargo": 2},
    "bob": {"heat": 2, "brazil": 1},
    "cyd": {"brazil": 2},
}
train = {
    "ann": ["evita", "heat"],
    "bob": ["evita", "dune"],
    "cyd": ["evita", "alien", "fargo"],
    "dan": ["evita", "alien", "casino", "dune", "heat"],
}
items = {
    "item": ["alien", "brazil", "casino", "dune", "evita", "fargo", "gandhi", "heat"],
    "categories": [
        "horror|scifi",
        "comedy|scifi",
        "crime",
        "scifi",
        "music",
        "crime|drama",
        "drama",
        "crime",
    ],
    "group": ["old", "old", "new", "old", "new", "new", "old", "new"],
}
users = {"user": ["ann", "bob", "cyd"], "group": ["north", "south", "south"]}
reference = {  # the lists of another system
    "ann": ["alien", "casino", "heat", "fargo", "gandhi"],
    "bob": ["alien", "casino", "heat", "fargo", "gandhi"],
    "cyd": ["casino", "heat", "gandhi", "brazil", "dune"],
}
