"""``make bench``: what one automatic refund costs, counted by the database and the kernel, not by the product."""
