"""Evidence across studies: past launches, and human labels beside a model's."""
