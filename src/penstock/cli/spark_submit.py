"""What `spark-submit` is given: the `penstock` command, on the session that it starts.

spark-submit --master spark://head:7077 …/penstock/cli/submit.py sweep M-3.1 --seeds 100

"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # A script's directory comes first on the path, and ours has modules of common names.
    here = Path(__file__).parent
    sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    from penstock.cli.main import run

    run()
