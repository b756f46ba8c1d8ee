// Package checkout reads the files of a checkout.
// It finds lockfiles and bills of materials, and reads the code around findings.
// It never reads files outside of the checkout.
package checkout

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

// Git asks git, and returns what it answers without the line end, or why it did
// not.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && len(ended.Stderr) > 0 {
		err = fmt.Errorf("%s", bytes.TrimSpace(ended.Stderr))
	}
	return strings.TrimRight(string(out), "\r\n"), err
}

// IsDependencyFolder reports whether a path is of what a package manager has put there.
func IsDependencyFolder(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	return slices.Contains(folders, "node_modules") || slices.Contains(folders, "vendor")
}

// DetectBytes is how much of the beginning of a file says which format it has.
const DetectBytes = 64 << 10

// BOMFormats lists the formats of bills of materials.
var BOMFormats = []report.Format{report.CycloneDXJSON, report.CycloneDXXML, report.SPDXJSON}

// bomNames are how bills of materials are called.
var bomNames = []string{
	"bom.json", "bom.xml", "sbom.json", "sbom.xml", "*.cdx.json", "*.cdx.xml", "*.bom.json", "*.sbom.json", "*.spdx.json",
}

// IsBOM reports whether a file is named like a bill of materials.
func IsBOM(name string) bool {
	return slices.ContainsFunc(bomNames, func(pattern string) bool {
		ok, err := path.Match(pattern, strings.ToLower(path.Base(name)))
		return ok && err == nil
	})
}

// Unreadable says without the path why a file cannot be opened, and what to do.
func Unreadable(err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied; let whoever runs this read it")
	case errors.As(err, &at):
		return at.Err
	}
	return err
}
