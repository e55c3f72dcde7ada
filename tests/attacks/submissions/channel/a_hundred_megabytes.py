"""Answers with a hundred megabytes, a magic word and nothing else."""

# seen as: malformed-plan
# trick
# uses: frames

for _ in range(100):
    send(b"warpgrd\x01" * (1 << 17))
# end
