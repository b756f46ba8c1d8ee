package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report"
)

// git asks git, and returns what it answers without the line end, or why it did
// not.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%s", bytes.TrimSpace(ended.Stderr))
	}
	return strings.TrimRight(string(out), "\r\n"), err
}

// isDependencyFolder reports whether a path is of what a package manager has put there.
func isDependencyFolder(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	return slices.Contains(folders, "node_modules") || slices.Contains(folders, "vendor")
}

// detectBytes is how much of the beginning of a file says which format it has.
const detectBytes = 64 << 10

var bomFormats = []report.Format{report.CycloneDXJSON, report.CycloneDXXML, report.SPDXJSON}

// bomNames are how bills of materials are called.
var bomNames = []string{
	"bom.json", "bom.xml", "sbom.json", "sbom.xml", "*.cdx.json", "*.cdx.xml", "*.bom.json", "*.sbom.json", "*.spdx.json",
}

func isBOM(name string) bool {
	return slices.ContainsFunc(bomNames, func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ToLower(path.Base(name)))
		return ok && err == nil
	})
}

// unreadable says without the path why a file cannot be opened, and what to do.
func unreadable(err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied; let whoever runs this read it")
	case errors.As(err, &at):
		return at.Err
	}
	return err
}
