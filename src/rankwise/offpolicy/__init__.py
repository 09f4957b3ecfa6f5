"""Values of policies on logged impressions, and interleaving."""
