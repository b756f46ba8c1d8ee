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

// Isolation says how scanners are kept in.
type Isolation string

// Ways to keep scanners in.
const (
	IsolateIfPossible Isolation = "auto"     // by bubblewrap, where it works
	IsolateAlways     Isolation = "required" // by bubblewrap, or not at all
	IsolateNever      Isolation = "none"     // bounds alone
)

// sandbox starts scanners.
type sandbox struct {
	bwrap  string   // program; empty: none
	why    string   // there is none
	shared []string // folders that scanners need beside the system's, which they may read
}

// newSandbox finds out what works here.
func newSandbox(ctx context.Context, c Config) (sandbox, error) {
	s := sandbox{shared: scannerParts(c.Semgrep)}
	if c.Isolation == IsolateNever {
		s.why = "it is switched off"
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

// String says for people how scanners are kept in.
func (s sandbox) String() string {
	if s.bwrap != "" {
		return "bubblewrap: no network, the checkout alone"
	}
	return model.NoSandbox + s.why
}

// isolates reports whether scanners are kept from the network and the rest of the disk.
func (s sandbox) isolates() bool { return s.bwrap != "" }

// systemPath is where programs are looked for in the sandbox.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// systemFolders are those of the machine that a scanner may read: programs and what they
// are linked with, and nothing of its data.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache",
	"/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/localtime", "/nix/store",
}

// tmpfsSize bounds what a scanner keeps in memory as files, in bytes, in each of two folders.
const tmpfsSize = "536870912"

// arguments are those of bubblewrap up to the program: what may be read, and what written.
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

// scannerParts are what a scanner is installed in, other than the system's folders: its file,
// the environment that it is in, and the prefix of the interpreter that the environment names.
// A folder that merely holds the file is none of them: it may be somebody's home.
func scannerParts(program string) (list []string) {
	if program == "" {
		return nil
	}
	for _, file := range spellings(program) {
		list = append(list, file)
		prefix := filepath.Dir(filepath.Dir(file))
		if !exists(filepath.Join(prefix, "pyvenv.cfg")) && !holdsPython(prefix) {
			continue
		}
		list = append(list, prefix)
		for _, interpreter := range spellings(filepath.Join(filepath.Dir(file), "python3")) {
			if of := filepath.Dir(filepath.Dir(interpreter)); holdsPython(of) {
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

// spellings are a file as it is named, and as it is named without links.
func spellings(file string) []string {
	if target, err := filepath.EvalSymlinks(file); err == nil && target != file {
		return []string{file, target}
	}
	return []string{file}
}

// holdsPython reports whether an interpreter and its standard library are installed in a folder.
func holdsPython(prefix string) bool {
	return exists(filepath.Join(prefix, "lib", "python3*", "os.py"))
}

// exists reports whether there is a file that fits a pattern.
func exists(pattern string) bool {
	found, err := filepath.Glob(pattern)
	return err == nil && len(found) > 0
}

// command makes a call of a program that may read and write some folders.
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

// removeAll removes a folder, also one whose folders nobody may write.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(name, 0o700) // what cannot be removed then is told below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
