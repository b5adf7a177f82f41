"""What is known of pairs of points: labels, similar and dissimilar pairs, graphs."""
