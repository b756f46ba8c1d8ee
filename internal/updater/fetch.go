package updater

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

const (
	// maxDownload is the maximum size of a source in bytes. The largest archive has about 300 MB.
	maxDownload = 4 << 30
	// headerTimeout is the maximum wait for response headers, and silence the maximum pause within
	// a body.
	headerTimeout = time.Minute
	silence       = time.Minute
)

// download fetches a source to a file. It resumes an interrupted download if the source has not
// changed.
type download struct {
	*Loader
	source  *model.AdvisorySource
	address string // with credentials, which source does not contain
}

// fetcher has timeouts for headers, but not for bodies, which may take long.
var fetcher = &http.Client{Transport: &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DisableCompression:    true,
	ResponseHeaderTimeout: headerTimeout,
	TLSHandshakeTimeout:   headerTimeout,
}}

// run returns the complete file. unchanged reports that the source has not changed since it was
// loaded.
func (d *download) run(ctx context.Context) (file string, unchanged bool, err error) {
	if err := os.MkdirAll(d.cache, 0o700); err != nil {
		return "", false, err
	}
	sum := sha256.Sum256([]byte(d.address))
	file = filepath.Join(d.cache, hex.EncodeToString(sum[:8]))
	part, tag := file+".part", file+".etag"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.address, nil)
	if err != nil {
		return "", false, err
	}
	have := d.prepareRequest(req, part, tag)
	res, err := fetcher.Do(req)
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotModified:
		return "", true, nil
	case res.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
	case res.StatusCode == http.StatusOK:
		have = 0
	default:
		return "", false, errors.Join(fmt.Errorf("the publisher returned %s", res.Status), remove(part), remove(tag))
	}
	if err := os.WriteFile(tag, []byte(res.Header.Get("ETag")), 0o600); err != nil {
		return "", false, err
	}
	if err := d.save(part, have, res, cancel); err != nil {
		return "", false, fmt.Errorf("the download is incomplete; the next update resumes it: %w", err)
	}
	d.source.ETag, d.source.LastModified = res.Header.Get("ETag"), res.Header.Get("Last-Modified")
	return file, false, errors.Join(os.Rename(part, file), remove(tag))
}

// prepareRequest sets the headers for the partial download or the loaded version. It returns the
// size of the partial download.
func (d *download) prepareRequest(req *http.Request, part, tag string) int64 {
	info, err := os.Stat(part)
	etag, tagErr := os.ReadFile(tag)
	if err == nil && tagErr == nil && info.Size() > 0 && strings.HasPrefix(string(etag), `"`) {
		req.Header.Set("Range", "bytes="+strconv.FormatInt(info.Size(), 10)+"-")
		req.Header.Set("If-Range", string(etag))
		return info.Size()
	}
	if d.force || d.source.LoadedAt.IsZero() || req.URL.RawQuery != "" { // another query may be another feed
		return 0
	}
	if d.source.ETag != "" {
		req.Header.Set("If-None-Match", d.source.ETag)
	}
	if d.source.LastModified != "" {
		req.Header.Set("If-Modified-Since", d.source.LastModified)
	}
	return 0
}

// save appends the response to the file. It gives up if the publisher stops sending.
func (d *download) save(part string, have int64, res *http.Response, cancel context.CancelFunc) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if have == 0 {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(part, flags, 0o600)
	if err != nil {
		return err
	}
	watch := time.AfterFunc(silence, cancel)
	defer watch.Stop()
	body := d.bar.bytes(filepath.Base(d.source.Shown()), have, have+res.ContentLength, res.Body)
	n, err := io.Copy(f, io.LimitReader(watchedReader{body, watch}, maxDownload-have+1))
	if err == nil && have+n > maxDownload {
		err = fmt.Errorf("the file is larger than %d bytes", int64(maxDownload))
	}
	if err == nil && res.ContentLength >= 0 && n != res.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	return errors.Join(err, f.Close())
}

// watchedReader resets a timer after each read.
type watchedReader struct {
	io.Reader
	watch *time.Timer
}

// Read implements io.Reader.
func (h watchedReader) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.watch.Reset(silence)
	return n, err
}

// remove deletes a file if it exists.
func remove(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
