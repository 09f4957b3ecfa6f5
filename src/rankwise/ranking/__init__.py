"""Scores to recommendation lists and to exact ranks, in blocks of users.

The full user-item score matrix is never materialised:

scores or factors ──► blocks of scores ──► candidates only ──► top k        (`rank`)
 scores                pool                 pool           └─► exact ranks  (`rank_relevant`)
"""
