package bench

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// build builds the program.
func (s *started) build() {
	s.w.tb.Helper()
	out, err := exec.CommandContext(s.w.tb.Context(), "go", "build", "-o", s.program, "../../cmd/redoubt").CombinedOutput()
	if err != nil {
		s.w.tb.Fatalf("go build: %v\n%s", err, out)
	}
}

// serve starts a server and measures the time from the start of its process until ask returns. It
// then stops the server, which writes a checkpoint.
func (s *started) serve(request func(context.Context)) time.Duration {
	w := s.w
	w.tb.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	w.check(err)
	address := free.Addr().String()
	w.check(free.Close())
	ctx, cancel := context.WithTimeout(w.tb.Context(), 30*time.Minute)
	defer cancel()
	arguments := append([]string{
		"serve", "--addr", address, "--data", s.data, "--deployment", w.deployment.Slug, "--no-starter-rules",
		"--shutdown-timeout", "10m",
	}, s.more...)
	server := exec.CommandContext(ctx, s.program, arguments...)
	stderr := &bytes.Buffer{}
	server.Stderr = stderr
	s.address = address
	began := time.Now()
	w.check(server.Start())
	s.pid = server.Process.Pid
	request(ctx)
	took := time.Since(began)
	w.check(server.Process.Signal(syscall.SIGTERM))
	if err := server.Wait(); err != nil {
		w.tb.Fatalf("the server: %v\n%s", err, stderr)
	}
	return took
}

// requestPage requests a page of 100 findings until the server responds.
func (s *started) requestPage(ctx context.Context) {
	s.w.tb.Helper()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+s.w.target(nil, false, 100), nil)
		s.w.check(err)
		req.Header.Set("Authorization", "Bearer "+s.w.token)
		res, err := http.DefaultClient.Do(req)
		if err != nil { // it does not listen yet
			s.w.check(ctx.Err())
			time.Sleep(time.Millisecond)
			continue
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		s.w.check(err)
		if res.StatusCode != http.StatusOK {
			s.w.tb.Fatalf("%s: %.300s", res.Status, text)
		}
		return
	}
}
