package command

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/runner"
)

// RemoveRunnerFolder removes the directory of a deployment's runner unless a runner is using it. A
// directory that a server did not create is not removed.
func RemoveRunnerFolder(at config.Storage, deploymentID int64) error {
	dir := RunnerFolder(at, deploymentID)
	if _, err := os.Stat(filepath.Join(dir, RunnerIDFile)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return runner.Remove(dir)
}

// RunnerFolder returns the directory of a built-in runner.
func RunnerFolder(at config.Storage, deploymentID int64) string {
	return filepath.Join(at.Data, "runner", strconv.FormatInt(deploymentID, 10))
}

// RunnerIDFile is the name of a file in the directory of each built-in runner.
const RunnerIDFile = "id"
