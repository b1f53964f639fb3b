"""The script for `spark-submit`: runs the `penstock` command in the session that it starts.

spark-submit --master spark://head:7077 …/penstock/cli/spark_submit.py sweep M-3.1 --seeds 100

"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # Python puts a script's directory first on the path, and modules here have common names.
    here = Path(__file__).parent
    sys.path[:] = [entry for entry in sys.path if Path(entry).absolute() != here]
    from penstock.cli.main import run

    run()
