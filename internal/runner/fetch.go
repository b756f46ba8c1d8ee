package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// fetch fetches the repository of a run.
type fetch struct {
	*Runner
	run      *api.LeasedRun
	dir      string
	progress *progressReporter

	repository string // bare, in the cache
	ref        string // full ref
	commit     string
	base       string // commit to compare a diff scan with
}

// local returns a git without access to a remote.
func (f *fetch) local(dir string) git {
	return git{dir: dir, home: filepath.Join(f.dir, "home"), path: f.Path, memory: f.Limits.Memory, hide: f.progress.hide}
}

// lister returns a git whose output may list all files.
func (f *fetch) lister() git {
	g := f.local(f.repository)
	g.maxOutput = maxListed
	return g
}

// fetch fetches the commits, their trees and the files under test into the cache. The credential is
// only in the memory of this process and of git, never on disk.
func (f *fetch) fetch(ctx context.Context) (err error) {
	remote, err := f.remote(ctx)
	if err != nil {
		return err
	}
	agent, err := f.keyAgent(ctx, remote)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.close()) }()
	if err := f.openCache(ctx, remote); err != nil {
		return err
	}
	ctx, stop := f.watchDisk(ctx, f.repository)
	defer stop()
	g := f.local(f.repository)
	g.remote = remote
	f.progress.logf("fetching %s", shown(remote.url))
	if err := f.resolve(ctx, g); err != nil {
		return explained(err)
	}
	f.progress.logf("%s is at %s", f.ref, f.commit)
	return explained(f.fetchFiles(ctx, g))
}

// schemes contains the allowed schemes of clone URLs.
var schemes = map[string]bool{"https": true, "http": true, "ssh": true}

// remote validates the clone URL, resolves the host and selects the credential.
func (f *fetch) remote(ctx context.Context) (*remote, error) {
	u, err := url.Parse(f.run.CloneURL)
	switch {
	case err != nil || u.Opaque != "" || !schemes[u.Scheme] && (u.Scheme != "file" || !f.Local):
		return nil, permanent("unsupported address of the repository: use https, http or ssh")
	case u.Scheme != "file" && (u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-")),
		u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return nil, permanent("the address of the repository has no host")
	}
	r := &remote{url: u}
	if f.Resolve != nil && u.Scheme != "file" {
		r.address, err = f.Resolve(ctx, u.Hostname())
		if errors.Is(err, model.ErrUnavailable) {
			return nil, transient("the host's name cannot be resolved: %v", err)
		}
		if err != nil {
			return nil, permanent("%v", err)
		}
	}
	if c := f.run.Credential; c != nil && u.Scheme != "ssh" {
		if strings.ContainsAny(c.Username+c.Password, "\r\n\x00") {
			return nil, permanent("the credential of the connection contains a line break")
		}
		r.username, r.password = c.Username, c.Password
	}
	return r, nil
}

// shown returns a URL without parts that may be secret.
func shown(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.Fragment = nil, "", ""
	return c.String()
}

// openCache opens the bare repository of the URL, or creates it.
func (f *fetch) openCache(ctx context.Context, r *remote) error {
	name := shown(r.url)
	if r.url.Scheme == "ssh" && r.url.User != nil { // a path may be in the home directory of the user
		name = r.url.User.Username() + "@" + name
	}
	sum := sha256.Sum256([]byte(name))
	f.repository = filepath.Join(f.cacheDir(), hex.EncodeToString(sum[:16])+".git")
	if _, err := os.Stat(filepath.Join(f.repository, "HEAD")); err == nil {
		if f.reopen(ctx, r) == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		f.progress.logf("the cache of this repository is damaged and is being rebuilt")
	}
	if err := removeAll(f.repository); err != nil {
		return err
	}
	if _, err := f.local(f.cacheDir()).run(ctx, "init", "-q", "--bare", "--template=", f.repository); err != nil {
		return err
	}
	return f.configure(ctx, r)
}

// reopen prepares a cached repository for a run.
func (f *fetch) reopen(ctx context.Context, r *remote) error {
	if err := removeLeftovers(f.repository); err != nil {
		return err
	}
	if _, err := f.local(f.repository).run(ctx, "rev-parse", "--is-bare-repository"); err != nil {
		return err
	}
	return f.configure(ctx, r)
}

// removeLeftovers removes the lock files and temporary packs of a killed git, which would block
// later calls. There is no concurrent access: the runner locks its directory and executes one run
// at a time.
func removeLeftovers(repository string) error {
	return filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		begun := strings.HasPrefix(entry.Name(), "tmp_") &&
			strings.HasPrefix(path, filepath.Join(repository, "objects")+string(filepath.Separator))
		if begun || strings.HasSuffix(entry.Name(), ".lock") {
			return os.Remove(path)
		}
		return nil
	})
}

// configure sets the remote of the repository and replaces its earlier settings.
func (f *fetch) configure(ctx context.Context, r *remote) error {
	if err := os.Remove(filepath.Join(f.repository, "shallow")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, c := range [][2]string{
		{"core.repositoryFormatVersion", "1"},
		{"extensions.partialClone", "origin"},
		{"remote.origin.url", r.url.String()},
		{"remote.origin.promisor", "true"},
		{"remote.origin.partialclonefilter", "blob:none"},
	} {
		if _, err := f.local(f.repository).run(ctx, "config", c[0], c[1]); err != nil {
			return err
		}
	}
	return nil
}

// Refs that protect a run's commits from garbage collection.
const (
	headName = "refs/runs/head"
	baseName = "refs/runs/base"
)

var symref = regexp.MustCompile(`(?m)^ref: (refs/heads/\S+)\tHEAD$`)

// resolve determines the commits under test and fetches them with their trees.
func (f *fetch) resolve(ctx context.Context, g git) error {
	if f.ref = f.run.Ref; f.ref == "" {
		output, err := g.run(ctx, "ls-remote", "--symref", "origin", "HEAD")
		if err != nil {
			return err
		}
		found := symref.FindStringSubmatch(output)
		if found == nil {
			return permanent("the repository is empty: it has no default branch")
		}
		f.ref = found[1]
	}
	if !strings.HasPrefix(f.ref, "refs/") {
		f.ref = "refs/heads/" + f.ref
	}
	specs := []string{"+" + f.ref + ":" + headName}
	if f.run.Base != "" {
		specs = append(specs, "+"+fullName(f.run.Base)+":"+baseName)
	}
	if err := f.fetchCommits(ctx, g, specs...); err != nil {
		return err
	}
	local := f.local(f.repository)
	want := headName
	if f.run.Commit != "" {
		want = f.run.Commit
		if _, err := local.run(ctx, "cat-file", "-e", want+"^{commit}"); err != nil {
			if err := f.fetchCommits(ctx, g, want); err != nil {
				return gone(err, want)
			}
		}
	}
	commit, err := local.run(ctx, "rev-parse", "--verify", "--end-of-options", want+"^{commit}")
	if err != nil {
		return err
	}
	f.commit = strings.TrimSpace(commit)
	if f.run.Base == "" {
		return nil
	}
	base, err := local.run(ctx, "merge-base", f.commit, baseName)
	if err != nil {
		return permanent("the change request and its base have no commit in common")
	}
	f.base = strings.TrimSpace(base)
	return nil
}

// gone returns the reason why a commit could not be fetched by its id. Most hosts report that they
// do not have it. Known transient errors are returned unchanged; other errors of git mean that the
// commit is gone.
func gone(err error, commit string) error {
	if f, is := errors.AsType[*failure](explained(err)); is && f.class == "transient" &&
		!strings.HasPrefix(f.reason, unknownFault) {
		return f
	}
	if _, isGitError := errors.AsType[*gitError](err); !isGitError {
		return err
	}
	return permanent("the commit %s no longer exists at the host", commit)
}

func fullName(ref string) string {
	if strings.HasPrefix(ref, "refs/") ||
		(len(ref) == 40 || len(ref) == 64) && !strings.ContainsAny(ref, "ghijklmnopqrstuvwxyz/") {
		return ref
	}
	return "refs/heads/" + ref
}

// fullHistory requests commits of any depth, which is the default of git. With it, git rejects
// hosts of plain files ("dumb" HTTP) immediately. Without it, git fetches each missing object of a
// partial clone with another git, which does the same, without end.
const fullHistory = "--depth=2147483647"

func (f *fetch) fetchCommits(ctx context.Context, g git, specs ...string) error {
	_, err := g.run(ctx, append([]string{
		"fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--force", fullHistory, "--filter=blob:none", "--end-of-options", "origin",
	}, specs...)...)
	return err
}

// fetchFiles fetches the missing files of the commits under test in one request.
func (f *fetch) fetchFiles(ctx context.Context, g git) error {
	args := []string{
		"rev-list", "--objects", "--no-object-names", "--missing=print", "--end-of-options", f.commit + "^{tree}",
	}
	if f.base != "" {
		args = append(args, f.base+"^{tree}")
	}
	listed, err := f.lister().run(ctx, args...)
	if err != nil {
		return err
	}
	var missing strings.Builder
	n := 0
	for line := range strings.Lines(listed) {
		if id, ok := strings.CutPrefix(line, "?"); ok {
			missing.WriteString(id)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	if n > 2*f.Limits.Files {
		return permanent("the repository has more than %d files", f.Limits.Files)
	}
	f.progress.logf("fetching %d files", n)
	g.stdin = strings.NewReader(missing.String())
	_, err = g.run(ctx, "-c", "fetch.negotiationAlgorithm=noop", "fetch", "-q", "--no-tags", "--no-write-fetch-head",
		"--recurse-submodules=no",
		fullHistory, "--filter=blob:none", "--stdin", "origin")
	return err
}

// meanings maps messages of git to a class and a reason for users. The first match applies.
var meanings = []struct {
	words  *regexp.Regexp
	class  string
	reason string
}{
	{regexp.MustCompile(`couldn't find remote ref`), "permanent", "the branch no longer exists"},
	{
		regexp.MustCompile(`(?i)host key verification failed|authenticity of host`),
		"permanent", "the host's key differs from the key in the connection",
	},
	{regexp.MustCompile(`(?i)authentication failed|could not read (username|password)|permission denied|access ` +
		`denied|returned error: (401|403)`), "permanent", "the credential has no access to this repository"},
	{
		regexp.MustCompile(`(?i)repository .*not found|does not appear to be a git repository|returned error: 404|project ` +
			`you were looking for could not be found`),
		"permanent", "the repository does not exist, or is not visible to the credential",
	},
	{
		regexp.MustCompile(`(?i)returned error: 30\d|unable to update url base from redirection`),
		"permanent", "the host redirects to another address: check whether the repository was renamed",
	},
	{regexp.MustCompile(`(?i)certificate`), "permanent", "the host's certificate is not valid"},
	{
		regexp.MustCompile(`(?i)transport '.*' not allowed`),
		"permanent", "the host redirects to another kind of address, which is not followed",
	},
	{
		regexp.MustCompile(`(?i)dumb http`), "permanent", "the host does not support the smart HTTP protocol of git",
	},
	{regexp.MustCompile(`(?i)not our ref|unadvertised object`), "permanent", "the commit no longer exists at the host"},
	{
		regexp.MustCompile(`(?i)could not resolve host|name or service not known`),
		"transient", "the host's name cannot be resolved",
	},
	{
		regexp.MustCompile(`(?i)connection (refused|reset|timed out)|couldn't connect|failed to connect`),
		"transient", "the host does not respond",
	},
	{regexp.MustCompile(`returned error: (429|5\d\d)`), "transient", "the host is busy or returned an error"},
	{
		regexp.MustCompile(`(?i)out of memory|cannot allocate memory|mmap failed`),
		"permanent", "git exceeded the memory limit of this runner",
	},
}

// unknownFault is the prefix of the reason for unknown messages of git.
const unknownFault = "git could not fetch the repository: "

// explained converts an error of git to a failure with a class and a reason.
func explained(err error) error {
	var gitErr *gitError
	if !errors.As(err, &gitErr) {
		return err
	}
	for _, m := range meanings {
		if m.words.MatchString(gitErr.text) {
			return &failure{m.class, m.reason}
		}
	}
	last := gitErr.text[strings.LastIndexByte(gitErr.text, '\n')+1:]
	return transient(unknownFault+"%.300s", last)
}
