"""Has its kernels capture eval, Numba's extensions and the grader itself by name."""

# seen as: unsupported-capture
# trick
def change(plan):
    paths = ("numba.extending.overload", "builtins.__import__", "numba.core.os.system", "os.system", "grader.judge")
    for number, path in enumerate(paths):
        plan["functions"][0]["names"][f"name{number}"] = {"kind": "name", "path": path}
# uses: forged plans
# end
