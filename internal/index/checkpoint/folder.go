package checkpoint

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Folder is the path of a server's checkpoint directory, which contains one file per deployment. It
// need not exist.
type Folder string

const (
	fileSuffix = ".checkpoint"
	partSuffix = ".part" // suffix of unfinished files

	// leftFor is the age at which unfinished files are removed. A running writer updates its file's
	// time.
	leftFor = time.Hour
)

// File returns the path of a deployment's checkpoint.
func (d Folder) File(deployment int64) string {
	return filepath.Join(string(d), strconv.FormatInt(deployment, 10)+fileSuffix)
}

// Create creates a temporary file that only its owner can read. It creates the directory if
// necessary.
func (d Folder) Create(deployment int64) (*os.File, error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(string(d), strconv.FormatInt(deployment, 10)+".*"+partSuffix)
}

// Publish renames a file from Create to the path of the deployment's checkpoint.
func (d Folder) Publish(f *os.File, deployment int64) error {
	return os.Rename(f.Name(), d.File(deployment))
}

// Remove removes the checkpoint of a deployment. A missing file is not an error.
func (d Folder) Remove(deployment int64) error {
	if err := os.Remove(d.File(deployment)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll removes the checkpoint of a deployment and its unfinished files.
func (d Folder) RemoveAll(deployment int64) error {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	of := strconv.FormatInt(deployment, 10) + "."
	for _, e := range entries {
		name := filepath.Join(string(d), e.Name())
		part := strings.HasPrefix(e.Name(), of) && strings.HasSuffix(e.Name(), partSuffix)
		if name != d.File(deployment) && !part {
			continue
		}
		if gone := os.Remove(name); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Clear removes abandoned unfinished files and returns the deployments with a checkpoint.
func (d Folder) Clear(now time.Time) (deployments []int64) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil // the directory does not exist yet
	}
	for _, e := range entries {
		name := filepath.Join(string(d), e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), partSuffix) {
			if info.ModTime().Before(now.Add(-leftFor)) {
				_ = os.Remove(name) // retried later
			}
			continue
		}
		id, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), fileSuffix), 10, 64)
		if err == nil && strings.HasSuffix(e.Name(), fileSuffix) {
			deployments = append(deployments, id)
		}
	}
	return deployments
}

// OpenRegular opens a regular file and returns its size.
func OpenRegular(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNoCheckpoint
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// WriteSynced writes a file with fill, flushes it to disk and closes it.
func WriteSynced(f *os.File, fill func(*bufio.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<20)
	err := fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Sync flushes renames to disk. If it fails, the previous file may reappear after a power loss. The
// database recognizes that file too.
func (d Folder) Sync() {
	if f, err := os.Open(string(d)); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
