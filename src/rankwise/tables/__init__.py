"""Any source to tables of ids, ranks, scores and relevances."""
