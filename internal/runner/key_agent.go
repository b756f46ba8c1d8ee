package runner

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keyAgent provides the key of a connection to ssh without a file, so that a killed fetch leaves no
// key behind.
type keyAgent struct {
	listener net.Listener
	serving  sync.WaitGroup
}

// keyAgent starts an agent for the key of the run's credential and writes the known hosts file.
// Without a key it starts no agent.
func (f *fetch) keyAgent(ctx context.Context, r *remote) (*keyAgent, error) {
	c := f.run.Credential
	if r.url.Scheme != "ssh" || c == nil || c.SSHKey == "" {
		return &keyAgent{}, nil
	}
	key, err := ssh.ParseRawPrivateKey([]byte(strings.TrimRight(c.SSHKey, "\n") + "\n"))
	if err != nil {
		return nil, permanent("the connection's key is invalid: %v", err)
	}
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		return nil, permanent("the connection's key is invalid: %v", err)
	}
	r.knownHosts, r.sshAgent = filepath.Join(f.dir, "private", "known_hosts"), filepath.Join(f.dir, "private", "agent")
	if err := os.WriteFile(r.knownHosts, []byte(c.KnownHosts+"\n"), 0o600); err != nil {
		return nil, err
	}
	a := &keyAgent{}
	if a.listener, err = new(net.ListenConfig).Listen(ctx, "unix", r.sshAgent); err != nil {
		return nil, err
	}
	a.serving.Go(func() {
		for {
			conn, err := a.listener.Accept()
			if err != nil {
				return
			}
			a.serving.Go(func() {
				_ = agent.ServeAgent(keys, conn) // it ends when ssh does
				_ = conn.Close()
			})
		}
	})
	return a, nil
}

// close stops the agent. ssh must have ended.
func (a *keyAgent) close() error {
	if a.listener == nil {
		return nil
	}
	err := a.listener.Close()
	a.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
