package command

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/runner"
)

// RemoveRunnerFolder removes the folder of a deployment's runner, unless one works there. A folder
// that is none of a server's stays.
func RemoveRunnerFolder(at config.Storage, deploymentID int64) error {
	dir := RunnerFolder(at, deploymentID)
	if _, err := os.Stat(filepath.Join(dir, RunnerIDFile)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return runner.Remove(dir)
}

// RunnerFolder returns the folder of a built-in runner.
func RunnerFolder(at config.Storage, deploymentID int64) string {
	return filepath.Join(at.Data, "runner", strconv.FormatInt(deploymentID, 10))
}

// RunnerIDFile is in the folder of a deployment's runner.
const RunnerIDFile = "id"
