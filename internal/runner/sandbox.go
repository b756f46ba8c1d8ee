package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Isolation is the isolation mode of scanners.
type Isolation string

// Isolation modes.
const (
	IsolateIfPossible Isolation = "auto"     // bubblewrap if available
	IsolateAlways     Isolation = "required" // bubblewrap; otherwise the runner fails to start
	IsolateNever      Isolation = "none"     // resource limits only
)

// sandbox starts scanners.
type sandbox struct {
	bwrap  string   // path; empty: none
	why    string   // reason for no bubblewrap
	shared []string // additional directories that scanners may read
}

// newSandbox determines the available isolation.
func newSandbox(ctx context.Context, c Config) (sandbox, error) {
	s := sandbox{shared: scannerParts(c.Semgrep)}
	if c.Isolation == IsolateNever {
		s.why = "it is disabled"
		return s, nil
	}
	program, err := exec.LookPath("bwrap")
	if err == nil {
		s.bwrap = program
		probe := exec.CommandContext(ctx, program, append(s.arguments(nil, nil), "true")...)
		probe.Env = []string{"PATH=" + systemPath}
		if out, failed := probe.CombinedOutput(); failed != nil {
			err = fmt.Errorf("bubblewrap does not work here: %.200s", strings.TrimSpace(string(out)))
		}
	} else {
		err = fmt.Errorf("bubblewrap (bwrap) is not installed")
	}
	if err == nil {
		return s, nil
	}
	if c.Isolation == IsolateAlways {
		return s, err
	}
	s.bwrap, s.why = "", err.Error()
	return s, nil
}

// String describes the isolation for display.
func (s sandbox) String() string {
	if s.bwrap != "" {
		return "bubblewrap: no network, only the checkout"
	}
	return model.NoSandbox + s.why
}

// isolates reports whether scanners have no access to the network and to other files.
func (s sandbox) isolates() bool { return s.bwrap != "" }

// systemPath is PATH in the sandbox.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// systemFolders contains system directories that a scanner may read: programs and libraries, but no
// data.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache",
	"/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/localtime", "/nix/store",
}

// tmpfsSize is the size limit, in bytes, of each of the two in-memory file systems of a scanner.
const tmpfsSize = "536870912"

// arguments returns the arguments of bubblewrap before the program, with readable and writable
// directories.
func (s sandbox) arguments(read, write []string) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "scanner"}
	for _, folder := range systemFolders {
		args = append(args, "--ro-bind-try", folder, folder)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--size", tmpfsSize, "--tmpfs", "/tmp", "--size", tmpfsSize,
		"--tmpfs", "/dev/shm")
	for _, folder := range append(slices.Clone(s.shared), read...) {
		args = append(args, "--ro-bind", folder, folder)
	}
	for _, folder := range write {
		args = append(args, "--bind", folder, folder)
	}
	return append(args, "--")
}

// scannerParts returns the paths of a scanner's installation outside of the system directories: its
// file, its virtual environment, and the prefix of its interpreter. The directory of the file
// itself is not included, because it may be a home directory.
func scannerParts(program string) (list []string) {
	if program == "" {
		return nil
	}
	for _, file := range spellings(program) {
		list = append(list, file)
		prefix := filepath.Dir(filepath.Dir(file))
		if !exists(filepath.Join(prefix, "pyvenv.cfg")) && !containsPython(prefix) {
			continue
		}
		list = append(list, prefix)
		for _, interpreter := range spellings(filepath.Join(filepath.Dir(file), "python3")) {
			if of := filepath.Dir(filepath.Dir(interpreter)); containsPython(of) {
				list = append(list, of)
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(part string) bool {
		return part == "/" || slices.ContainsFunc(
			systemFolders, func(system string) bool { return part == system || strings.HasPrefix(part, system+"/") },
		)
	})
}

// spellings returns a path and its target without links.
func spellings(file string) []string {
	if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
		return []string{file, target}
	}
	return []string{file}
}

// containsPython reports whether a directory contains the standard library of Python.
func containsPython(prefix string) bool {
	return exists(filepath.Join(prefix, "lib", "python3*", "os.py"))
}

// exists reports whether a file matches a pattern.
func exists(pattern string) bool {
	found, err := filepath.Glob(pattern)
	return err == nil && len(found) > 0
}

// command returns a command for a program that may read and write some directories.
func (s sandbox) command(ctx context.Context, dir string, env, read, write, program []string) *exec.Cmd {
	var cmd *exec.Cmd
	if s.bwrap == "" {
		cmd = exec.CommandContext(ctx, program[0], program[1:]...)
	} else {
		args := s.arguments(read, write)
		args = append(args[:len(args)-1], "--chdir", dir, "--")
		cmd = exec.CommandContext(ctx, s.bwrap, append(args, program...)...)
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, killWait
	ownGroup(cmd)
	return cmd
}

// removeAll removes a directory, including read-only subdirectories.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(name, 0o700) // the error is returned below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
