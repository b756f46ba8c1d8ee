package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile is the maximum size of a file in an archive.
const maxFile = 16 << 20

// archiveSums contains the SHA-256 sums of the archives in the format of sha256sum.
//
//go:embed archives.sha256
var archiveSums string

// readSteps groups the archives, named as REPOSITORY=FILE, by repository. It verifies their
// checksums, because the results depend on the exact archives.
func readSteps(dir string, named []string) (steps map[string][]string, names []string, err error) {
	steps = map[string][]string{}
	for _, arg := range named {
		name, file, ok := strings.Cut(arg, "=")
		if !ok || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) {
			return nil, nil, fmt.Errorf("%q is not REPOSITORY=FILE", arg)
		}
		if err := checkSum(filepath.Join(dir, file)); err != nil {
			return nil, nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		steps[name] = append(steps[name], filepath.Join(dir, file))
	}
	if len(names) == 0 {
		return nil, nil, errors.New("name archives as REPOSITORY=FILE: scripts/histories does")
	}
	return steps, names, nil
}

// checkSum rejects an archive whose SHA-256 sum is not listed.
func checkSum(archive string) error {
	text, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%x  %s", sha256.Sum256(text), filepath.Base(archive))
	if !slices.Contains(strings.Split(archiveSums, "\n"), line) {
		return fmt.Errorf("%q is not in archives.sha256: the results are of another archive", line)
	}
	return nil
}

// unpack extracts an archive into a directory: .zip, or else .tgz and .tar.gz. It omits directory
// prefixes and the metadata of source distributions, because both contain the version.
func unpack(archive, dir string) error {
	source := strings.HasSuffix(archive, ".tar.gz")
	put := func(name string, content io.Reader) error {
		if source {
			_, name, _ = strings.Cut(name, "/") // name-version/
		}
		name, ok := inRepository(name)
		if !ok {
			return nil
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(content, maxFile))
		if err != nil {
			return err
		}
		return os.WriteFile(file, text, 0o600)
	}
	if source || strings.HasSuffix(archive, ".tgz") {
		return unpackTar(archive, put)
	}
	return unpackZip(archive, put)
}

// inRepository returns the name of a file in its repository.
func inRepository(name string) (string, bool) {
	if module, rest, ok := strings.Cut(name, "@"); ok && strings.Contains(module, "/") {
		_, name, _ = strings.Cut(rest, "/") // of a Go module: path@version/
	}
	name = strings.TrimPrefix(name, "package/") // of npm
	return name, filepath.IsLocal(name) && !strings.HasSuffix(name, "/") && name != "PKG-INFO" &&
		!strings.Contains(name, ".egg-info/")
}

func unpackZip(archive string, put func(name string, content io.Reader) error) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = z.Close() }() // it was only read
	for _, f := range z.File {
		if !f.Mode().IsRegular() {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return err
		}
		if err := errors.Join(put(f.Name, content), content.Close()); err != nil {
			return err
		}
	}
	return nil
}

func unpackTar(archive string, put func(name string, content io.Reader) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	inflated, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(inflated); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := put(header.Name, files); err != nil {
			return err
		}
	}
}
