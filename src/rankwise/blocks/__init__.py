"""Lists, ground truth, matching and hits, and blocks of users as arrays of NumPy or PyTorch."""
