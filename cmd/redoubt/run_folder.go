package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/runner"
)

// removeOwnRunner removes the folder of a deployment's runner, unless one works there. A folder
// that is none of a server's stays.
func removeOwnRunner(at config.Storage, deploymentID int64) error {
	dir := ownRunnerDir(at, deploymentID)
	if _, err := os.Stat(filepath.Join(dir, ownIDFile)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return runner.Remove(dir)
}

func ownRunnerDir(at config.Storage, deploymentID int64) string {
	return filepath.Join(at.Data, "runner", strconv.FormatInt(deploymentID, 10))
}

// ownIDFile is in the folder of a deployment's runner.
const ownIDFile = "id"
