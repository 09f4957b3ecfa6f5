"""Scores to ranked lists and to exact ranks, in blocks that never hold users times items.

scores or factors ──► blocks of scores ──► candidates only ──► top k        (`rank`)
 scores                blocks               pool           └─► exact ranks  (`rank_relevant`)
"""
