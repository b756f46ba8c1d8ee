// Package checkout reads the files of a checkout. It finds lockfiles and bills of materials, and
// reads the code around findings. It never reads files outside of the checkout.
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

// Git runs git and returns its output without the trailing line break. An error contains the
// standard error of git.
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

// IsDependencyFolder reports whether a file is in a directory that a package manager created.
func IsDependencyFolder(name string) bool {
	folders := strings.Split(path.Dir(name), "/")
	return slices.Contains(folders, "node_modules") || slices.Contains(folders, "vendor")
}

// DetectBytes is the number of leading bytes from which the format of a file is detected.
const DetectBytes = 64 << 10

// BOMFormats lists the formats of bills of materials.
var BOMFormats = []report.Format{report.CycloneDXJSON, report.CycloneDXXML, report.SPDXJSON}

// bomNames are the file name patterns of bills of materials.
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

// Unreadable returns the reason why a file cannot be opened, without its path.
func Unreadable(err error) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errors.New("permission denied: make it readable for the user of this command")
	case errors.As(err, &at):
		return at.Err
	}
	return err
}
