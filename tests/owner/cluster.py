"""The contract once more on a Spark cluster: a standalone master and a worker of their own.

python tests/owner/cluster.py
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
TEST = Path(__file__).with_name("test_contract.py")


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return int(asked.getsockname()[1])


def wait_for(port: int) -> None:
    """Returns once somebody listens there."""
    for _ in range(600):
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on port {port}")


def main() -> int:
    """Start the cluster, run the contract on it, stop the cluster."""
    scratch = tempfile.mkdtemp(prefix="trueup-spark")
    port, web = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"
    settings = os.environ | {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": f"{scratch}/work",
        "SPARK_LOG_DIR": f"{scratch}/log",
        "PYSPARK_PYTHON": sys.executable,
    }
    start = [str(HOME / "bin" / "spark-class")]
    place = "org.apache.spark.deploy"
    started = []
    try:
        with open(f"{scratch}/log", "wb") as log:
            quiet = {"stdout": log, "stderr": log, "env": settings}
            leader = [f"{place}.master.Master", "--host", "127.0.0.1"]
            started.append(
                subprocess.Popen(
                    [*start, *leader, "--port", str(port), "--webui-port", str(web)], **quiet
                )
            )
            wait_for(port)
            helper = [f"{place}.worker.Worker", "--host", "127.0.0.1", "--cores", "2"]
            started.append(
                subprocess.Popen(
                    [*start, *helper, "--memory", "2g", "--webui-port", str(free_port()), master],
                    **quiet,
                )
            )
        test = [sys.executable, "-m", "pytest", "-q", "-n0", str(TEST), "-k", "spark"]
        run = subprocess.run(test, env=settings | {"TRUEUP_SPARK": master}, check=False)
        applications = list(Path(scratch, "work").glob("app-*"))
        print(f"applications that the worker has run: {len(applications)}")
        return run.returncode if applications else 1
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    sys.exit(main())
