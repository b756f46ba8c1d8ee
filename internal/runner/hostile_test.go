package runner

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestExponentialTreeIsRejected checks a tree of some hundred bytes with ten billion
// files.
func TestExponentialTreeIsRejected(t *testing.T) {
	b := newBench(t, nil)
	tree := b.tree(item{"100644", "f", b.blob("x")})
	for range 10 {
		var ten []item
		for i := range 10 {
			ten = append(ten, item{"40000", fmt.Sprintf("d%d", i), tree})
		}
		tree = b.tree(ten...)
	}
	b.commit("refs/heads/main", tree)
	end, _ := b.make(nil)
	if end.State != "failed" || end.Failure != "permanent" || !strings.Contains(end.Reason, "more than 1000 files") {
		t.Errorf("it ended as %+v", end)
	}
}

// TestGitMemoryLimit checks that git fails at its memory limit.
func TestGitMemoryLimit(t *testing.T) {
	b := newBench(t, nil)
	g := git{dir: b.dir, home: b.dir, path: os.Getenv("PATH"), stdin: endless{}}
	_, err := g.run(t.Context(), "-c", "core.bigFileThreshold=100g", "hash-object", "--stdin")
	if f, is := errors.AsType[*failure](explained(err)); !is || f.class != "permanent" || !strings.Contains(f.reason, "memory") {
		t.Errorf("git with endless input: %v", err)
	}
}

// endless is a file without end.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestLinksEscapingThroughOtherLinksAreSkipped checks links whose text alone stays in the checkout.
func TestLinksEscapingThroughOtherLinksAreSkipped(t *testing.T) {
	b := newBench(t, nil)
	deep := b.tree(item{"120000", "top", b.blob("../../..")})
	for _, name := range []string{"c", "b"} {
		deep = b.tree(item{"40000", name, deep})
	}
	b.commit("refs/heads/main", b.tree(
		item{"40000", "a", deep},
		item{"120000", "climb", b.blob("a/b/c/top/../../../../canary")},
		item{"120000", "climb2", b.blob("a/b/c/top/../canary")},
		item{"120000", "git", b.blob("a/b/.git/../x")},
		item{"120000", "good", b.blob("a/b/c/top/plan.json")},
		item{"120000", "loop", b.blob("loop")},
		b.plan(""),
	))
	end, saw := b.make(nil)
	if end.State != "done" || saw == nil {
		t.Fatalf("%+v\n%s", end, b.log.String())
	}
	for _, gone := range []string{"climb", "climb2", "git", "loop"} {
		if _, found := saw.Files[gone]; found {
			t.Errorf("%s is in the checkout", gone)
		}
	}
	if saw.Files["good"] != saw.Files["plan.json"] || !strings.Contains(b.log.String(), "through another link") || saw.Git != "" {
		t.Errorf("good is %q, git says %q, the log\n%s", saw.Files["good"], saw.Git, b.log.String())
	}
}

// TestGitConnectsToValidatedAddress checks that git connects to the validated address and does not
// resolve the host itself.
func TestGitConnectsToValidatedAddress(t *testing.T) {
	requested := ""
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requested = r.Host; w.WriteHeader(http.StatusNotFound) }))
	defer host.Close()
	_, port, _ := net.SplitHostPort(host.Listener.Addr().String())
	for _, c := range []struct {
		what      string
		address   string
		err       error
		class     string
		want      string
		requested string
	}{
		{"an address that is allowed", "127.0.0.1", nil, "permanent", "does not exist", "git.example.invalid:" + port},
		{"one that is not", "", errors.New("connections to it are not allowed"), "permanent", "not allowed", ""},
		{"a name that is not known", "", model.ErrUnavailable, "transient", "cannot be resolved", ""},
	} {
		requested = ""
		b := newBench(t, func(o *Config) {
			o.Resolve = func(context.Context, string) (netip.Addr, error) {
				if c.err != nil {
					return netip.Addr{}, c.err
				}
				return netip.ParseAddr(c.address)
			}
		})
		end, _ := b.make(func(r *api.LeasedRun) { r.CloneURL = "http://git.example.invalid:" + port + "/x.git" })
		if end.Failure != c.class || !strings.Contains(end.Reason, c.want) || requested != c.requested {
			t.Errorf("%s: %+v, asked as %q", c.what, end, requested)
		}
	}
}

// sshHost serves the repository over SSH. It returns the address, the known hosts, and the client
// key.
func sshHost(b *bench) (address, known, key string) {
	b.Helper()
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	b.check(err)
	signer, err := ssh.NewSignerFromKey(hostKey)
	b.check(err)
	_, clientKey, err := ed25519.GenerateKey(rand.Reader)
	b.check(err)
	client, err := ssh.NewSignerFromKey(clientKey)
	b.check(err)
	block, err := ssh.MarshalPrivateKey(clientKey, "")
	b.check(err)
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, shown ssh.PublicKey) (*ssh.Permissions, error) {
		if string(shown.Marshal()) != string(client.PublicKey().Marshal()) {
			return nil, errors.New("another key")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	b.check(err)
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveGit(conn, config, b.remote)
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey())))
	return "git.example.invalid:" + port, "[git.example.invalid]:" + port + " " + line, string(pem.EncodeToMemory(block))
}

// serveGit serves fetches of one repository, regardless of the requested path.
func serveGit(conn net.Conn, config *ssh.ServerConfig, repository string) {
	server, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	defer server.Close()
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, channelRequests, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range channelRequests {
			_ = r.Reply(r.Type == "exec" || r.Type == "env", nil)
			if r.Type != "exec" {
				continue
			}
			go func() {
				cmd := exec.Command("git", "upload-pack", repository)
				cmd.Stdin, cmd.Stdout = channel, channel
				_ = cmd.Run()
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
				_ = channel.Close()
			}()
		}
	}
}

// TestSSHKeyIsServedByAgent checks that the key is in no file, so that a killed fetch leaves none.
func TestSSHKeyIsServedByAgent(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("install ssh")
	}
	secrets := ""
	b := newBench(t, func(c *Config) {
		c.Resolve = func(context.Context, string) (netip.Addr, error) { return netip.MustParseAddr("127.0.0.1"), nil }
	})
	b.commit("refs/heads/main", b.tree(b.plan("")))
	address, known, key := sshHost(b)
	c := &api.CloneCredential{SSHKey: key, KnownHosts: known}
	run := func(r *api.LeasedRun) { r.CloneURL, r.Credential = "ssh://git@"+address+"/payments.git", c }
	f := &fetch{Runner: b.runner, run: &api.LeasedRun{Credential: c, CloneURL: "ssh://git@" + address + "/x"}, dir: b.dir}
	b.check(os.MkdirAll(filepath.Join(b.dir, "private"), 0o700))
	r, err := f.remote(t.Context())
	b.check(err)
	agent, err := f.keyAgent(t.Context(), r)
	b.check(err)
	for _, e := range dirNames(t, filepath.Join(b.dir, "private")) {
		if text, err := os.ReadFile(filepath.Join(b.dir, "private", e)); err == nil {
			secrets += string(text)
		}
	}
	b.check(agent.close())
	if strings.Contains(secrets, "PRIVATE KEY") || !strings.Contains(secrets, known) {
		t.Errorf("on the disk there is %q", secrets)
	}
	if end, saw := b.make(run); end.State != "done" || saw == nil {
		t.Errorf("%+v\n%s", end, b.log.String())
	}
	c.KnownHosts = strings.Replace(known, "AAAA", "AAAB", 1)
	if end, _ := b.make(run); end.State != "failed" {
		t.Errorf("a host that shows another key: %+v", end)
	}
	c.SSHKey, c.KnownHosts = "no key", known
	if end, _ := b.make(run); end.Failure != "permanent" || !strings.Contains(end.Reason, "key") {
		t.Errorf("invalid key: %+v", end)
	}
}

func dirNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestSecondFetchReportsTheError distinguishes a missing commit from a busy host.
func TestSecondFetchReportsTheError(t *testing.T) {
	for stderr, want := range map[string]string{
		"fatal: remote error: upload-pack: not our ref 1111":                  "permanent",
		"fatal: error: Server does not allow request for unadvertised object": "permanent",
		"error: RPC failed; The requested URL returned error: 503":            "transient",
		"fatal: unable to access 'x': Could not resolve host: git.example":    "transient",
		"fatal: something else": "permanent",
	} {
		f, is := errors.AsType[*failure](gone(&gitError{stderr}, "1111"))
		if !is || f.class != want {
			t.Errorf("%q is %+v", stderr, f)
		}
	}
	if err := gone(context.Canceled, "1111"); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that is stopped: %v", err)
	}
}

// TestCacheSurvivesKilledGit checks that files left by a killed git are removed and do not
// block later runs.
func TestCacheSurvivesKilledGit(t *testing.T) {
	for name, left := range map[string]string{
		"settings": "config.lock", "ref": "refs/runs/head.lock", "packed refs": "packed-refs.lock", "shallow": "shallow.lock",
		"pack": "objects/pack/tmp_pack_a1B2c3", "index": "objects/pack/tmp_idx_a1B2c3", "object": "objects/ab/tmp_obj_a1B2c3",
		"no settings": "config", "folder": "config.lock/x",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.Isolation = IsolateNever })
			b.commit("refs/heads/main", b.tree(item{"100644", "a.py", b.blob("old\n")}, b.plan("")))
			full := func(r *api.LeasedRun) { r.Ref, r.Commit = "", "" }
			if end, _ := b.make(full); end.State != "done" {
				t.Fatalf("%+v\n%s", end, b.log.String())
			}
			caches, err := filepath.Glob(filepath.Join(b.runner.cacheDir(), "*.git"))
			if err != nil || len(caches) != 1 {
				t.Fatalf("%v, %v", caches, err)
			}
			file := filepath.Join(caches[0], left)
			b.check(os.MkdirAll(filepath.Dir(file), 0o700))
			b.check(os.WriteFile(file, []byte("cut o"), 0o400))
			b.commit("refs/heads/main", b.tree(item{"100644", "a.py", b.blob("new\n")}, b.plan("")))
			end, saw := b.make(full)
			if end.State != "done" || saw.Files["a.py"] != "new\n" {
				t.Errorf("%+v\n%s", end, b.log.String())
			}
			if _, err := os.Stat(file); left != "config" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is still there: %v", left, err)
			}
		})
	}
}

// TestDumbHTTPHostIsRejected checks that hosts of plain files ("dumb" HTTP) are rejected.
// There, git would fetch each missing object of a partial clone with another git, without end.
func TestDumbHTTPHostIsRejected(t *testing.T) {
	b := newBench(t, nil)
	b.commit("refs/heads/main", b.tree(item{"100644", "a.py", b.blob("x")}, b.plan("")))
	b.git(b.remote, "update-server-info")
	var lists atomic.Int32
	files := http.FileServer(http.Dir(b.remote))
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info/refs") && lists.Add(1) > 20 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer host.Close()
	end, _ := b.make(func(r *api.LeasedRun) { r.CloneURL = host.URL })
	if n := lists.Load(); end.State != "failed" || end.Failure != "permanent" || n == 0 || n > 3 {
		t.Errorf("asked %d times for the list of branches: %+v", n, end)
	}
}
