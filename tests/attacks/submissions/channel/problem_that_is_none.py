"""Reports a problem that says it is the grader's fault, with a terminal's escapes in it."""

# seen as: ChildFault
# trick
# uses: frames

texts = dict.fromkeys(("what", "expected", "found", "where", "advice"), "\x1b[2J\x1b]0;passed\x07 <script>alert(1)</script>")
send(frame({"problem": {"kind": "ChildFault", **texts}}))
# end
