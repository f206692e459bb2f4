"""What people of a merchant do themselves: start a refund, and work on the cases that they own."""
