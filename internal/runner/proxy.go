package runner

import (
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"time"
)

// proxy is the scanner's only network access. It forwards requests to the server with the run's
// token, which the scanner does not have.
type proxy struct {
	scan   *scan
	key    string // token of the scanner for the proxy
	server *http.Server
	socket string
	done   chan struct{}
}

// startProxy listens on a socket in the run's directory.
func (s *scan) startProxy(ctx context.Context, key string) (*proxy, error) {
	p := &proxy{scan: s, key: key, socket: filepath.Join(s.dir, "way", "s"), done: make(chan struct{})}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", p.socket)
	if err != nil {
		return nil, err
	}
	p.server = &http.Server{
		Handler:           p.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(p.done)
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.Logger.Warn("the proxy to the server failed", "error", err)
		}
	}()
	return p, nil
}

func (p *proxy) close() error {
	err := p.server.Close()
	<-p.done
	return err
}

func (p *proxy) handler() http.Handler {
	out := &httputil.ReverseProxy{
		Transport: p.scan.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.scan.Server)
			r.Out.Host = p.scan.Server.Host
			r.Out.Header.Set("Authorization", "Bearer "+p.scan.run.Token)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case subtle.ConstantTimeCompare([]byte(shown), []byte(p.key)) != 1, !strings.HasPrefix(r.URL.Path, "/api/"):
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		case strings.HasSuffix(r.URL.Path, "/results"):
			p.scan.progress.state("uploading")
		}
		out.ServeHTTP(w, r)
	})
}
