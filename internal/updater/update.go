package updater

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Addresses of the publishers.
const (
	epssScores = "https://epss.empiricalsecurity.com/epss_scores-current.csv.gz"
	kevFeed    = "https://www.cisa.gov/sites/default/files/feeds/known_exploited_vulnerabilities.json"
)

// storageOnly contains the flags of commands without a deployment.
type storageOnly struct{ config.Storage }

func (c storageOnly) With(a *command.App, fn func(*store.Store) error) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(fn(st), st.Close())
}

type advisoriesUpdateCmd struct {
	storageOnly
	From       []string `help:"Source to load instead; repeatable. A path or URL of OSV records (zip, folder or single record), EPSS scores (CSV, also .gz) or the KEV catalog (JSON)." placeholder:"ZIP|DIR|FILE|URL"`
	Ecosystems []string `help:"Ecosystems to load advisories for (default: those of the supported lockfiles)." default:"npm,PyPI,Go,crates.io,RubyGems,Packagist,Maven,NuGet,Pub,SwiftURL,Hex,ConanCenter" placeholder:"NAME"`
	Archives   string   `help:"URL of the OSV archives, with a folder per ecosystem." default:"https://osv-vulnerabilities.storage.googleapis.com" env:"REDOUBT_ADVISORIES_ARCHIVES" placeholder:"URL"`
	Scores     bool     `help:"Also load EPSS scores and the KEV catalog." default:"true" negatable:""`
	Force      bool     `help:"Reload unchanged sources."`
}

// Run loads all sources and matches all deployments. It continues after a failed source, and
// returns the error at the end.
func (c advisoriesUpdateCmd) Run(a *command.App) error {
	st, err := a.Create(c.Storage)
	if err != nil {
		return err
	}
	from := c.From
	if len(from) == 0 {
		from = defaultSources(c.Archives, c.Ecosystems, c.Scores)
	}
	bar := newSteps(command.Raw(a.Err))
	u := Loader{App: a, Store: st, cache: cacheFolder(c.Storage), force: c.Force, bar: bar, by: a.Actor()}
	err = u.all(a.Ctx, from, func(s model.AdvisorySource, done advisory.LoadResult, unchanged bool) {
		bar.pause(func() { printSource(a.Out, s, done, unchanged) })
	})
	library := advisory.NewLibrary(command.AdvisoryOrders)
	err = errors.Join(err,
		MatchDeployments(a.Ctx, st, library, bar.refs, func(d model.Deployment, swept advisory.SweepResult) {
			bar.pause(func() {
				if swept.Busy {
					fmt.Fprintf(a.Out, "%s: another process is matching this deployment\n", d.Slug)
					return
				}
				fmt.Fprintf(a.Out, "%s: %d refs matched, %d findings changed\n", d.Slug, swept.Refs, swept.Changed)
			})
		}))
	bar.close()
	return errors.Join(err, st.Close())
}

func printSource(w io.Writer, s model.AdvisorySource, done advisory.LoadResult, unchanged bool) {
	if unchanged {
		fmt.Fprintf(w, "%s: unchanged\n", s.Shown())
		return
	}
	fmt.Fprintf(w, "%s: %d records, %d new or changed, %d refused\n", s.Shown(), done.Records, done.Changed, done.Refused)
	for _, r := range done.Refusals {
		fmt.Fprintf(w, "  refused %s: %s\n", r.Item, r.Reason)
	}
}

// defaultSources returns the addresses of the publishers' archives and feeds.
func defaultSources(archives string, ecosystems []string, scores bool) (list []string) {
	for _, e := range ecosystems {
		list = append(
			list, strings.TrimSuffix(archives, "/")+"/"+strings.ReplaceAll(advisory.OSVName(e), " ", "%20")+"/all.zip",
		)
	}
	if scores {
		list = append(list, epssScores, kevFeed)
	}
	return list
}

// cacheFolder returns the directory of downloads. Interrupted downloads in it are resumed.
func cacheFolder(c config.Storage) string {
	if c.DatabaseURL == "" {
		return filepath.Join(c.Data, "advisories")
	}
	return filepath.Join(os.TempDir(), "redoubt-advisories")
}

// Loader loads sources.
type Loader struct {
	*command.App
	Store *store.Store
	cache string
	force bool
	bar   *steps
	by    model.Actor // actor of the load
}

// shownError is an error of a source whose message hides the credentials in addresses.
type shownError struct {
	error
	of model.AdvisorySource
}

func (e shownError) Unwrap() error { return e.error }

func (e shownError) Error() string {
	text := strings.ReplaceAll(e.error.Error(), e.of.Location, e.of.Shown())
	if before, _, is := strings.Cut(text, "failed to parse Location header"); is { // contains parts of it
		return before + "the redirect address is invalid"
	}
	text = queryInText.ReplaceAllString(text, `"$1"`)
	return addressInText.ReplaceAllStringFunc(text, func(address string) string {
		return model.AdvisorySource{Location: address}.Shown() // includes addresses of redirects
	})
}

// addressInText matches the addresses in a text, and queryInText the quoted paths with a query.
var (
	addressInText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"]+[^\s":.,;]`)
	queryInText   = regexp.MustCompile(`"(/[^"?]*)\?[^"]*"`)
)

// errAddress does not wrap the error of net/url, which may quote a part of the password as port.
var errAddress = errors.New(
	"invalid address: encode special characters of a username or password, such as %23 for #",
)

// all loads the sources in order and publishes the changes.
func (u *Loader) all(
	ctx context.Context, from []string, report func(model.AdvisorySource, advisory.LoadResult, bool),
) error {
	var failed []error
	for _, location := range from {
		location = strings.TrimSpace(location)
		s, done, unchanged, err := u.one(ctx, location)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			err = shownError{err, model.AdvisorySource{Location: location}}
			failed = append(failed, fmt.Errorf("%s: %w", model.AdvisorySource{Location: location}.Shown(), err))
			s.Error = err.Error()
		} else {
			report(s, done, unchanged)
		}
		if err := u.note(ctx, s, done, unchanged && err == nil); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	_, err := advisory.FillSummaries(ctx, u.Store)
	if err == nil {
		_, err = u.Store.PublishAdvisories(ctx)
	}
	return errors.Join(append(failed, err)...)
}

// note stores the state of a source and adds changes to the audit log.
func (u *Loader) note(ctx context.Context, s model.AdvisorySource, done advisory.LoadResult, unchanged bool) error {
	if err := u.Store.PutAdvisorySource(ctx, s); err != nil || unchanged {
		return err
	}
	return u.Store.AuditAdvisoryLoad(ctx, u.by, s, done.Changed)
}

// one loads a source unless it is unchanged since the last load.
func (u *Loader) one(
	ctx context.Context, location string,
) (s model.AdvisorySource, done advisory.LoadResult, unchanged bool, err error) {
	isURL := model.AdvisorySource{Location: location}.IsAddress()
	if !isURL {
		if location, err = filepath.Abs(location); err != nil {
			return s, done, false, err
		}
	}
	if s, err = u.Store.AdvisorySource(ctx, location); err != nil {
		return s, done, false, err
	}
	file := location
	if isURL {
		if _, err := url.Parse(location); err != nil {
			return s, done, false, errAddress
		}
		d := download{Loader: u, source: &s, address: location}
		if file, unchanged, err = d.run(ctx); err != nil || unchanged {
			if s.CheckedAt = u.Clock(); err != nil {
				s.CheckedAt = time.Time{}
			}
			return s, done, unchanged, err
		}
	}
	if done, err = u.load(ctx, file, &s); err != nil {
		return s, done, false, err
	}
	s.LoadedAt, s.CheckedAt, s.Error = u.Clock(), u.Clock(), ""
	s.Records, s.Refused = done.Records, done.Refused
	s.NewestAt = later(s.NewestAt, done.Newest)
	if isURL {
		err = os.Remove(file)
	}
	return s, done, false, err
}

// load stores the contents of a file or directory.
func (u *Loader) load(
	ctx context.Context, name string, s *model.AdvisorySource,
) (done advisory.LoadResult, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return done, err
	}
	s.Kind = "osv"
	progress := u.bar.records(filepath.Base(name))
	if info.IsDir() {
		return advisory.Load(ctx, u.Store, advisory.Folder(os.DirFS(name)), progress)
	}
	f, err := os.Open(name)
	if err != nil {
		return done, err
	}
	defer f.Close()
	head, err := advisory.Head(f)
	if err != nil {
		return done, err
	}
	kind, err := advisory.KindOf(head)
	if err != nil {
		return done, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return done, err
	}
	switch kind {
	case advisory.KindZip:
		archive, err := zip.NewReader(f, info.Size())
		if err != nil {
			return done, fmt.Errorf("incomplete or invalid zip: %w", err)
		}
		return advisory.Load(ctx, u.Store, advisory.Zip(archive), progress)
	case advisory.KindEPSS:
		s.Kind = "epss"
		return u.Scores(ctx, f)
	case advisory.KindKEV:
		s.Kind = "kev"
		return u.Exploited(ctx, f)
	}
	data, err := io.ReadAll(io.LimitReader(f, advisory.MaxRecord+1))
	if err != nil {
		return done, err
	}
	return advisory.Load(ctx, u.Store, advisory.SingleFile(filepath.Base(name), data), progress)
}

// Scores loads EPSS scores.
func (u *Loader) Scores(ctx context.Context, r io.Reader) (done advisory.LoadResult, err error) {
	var file advisory.EPSSFile
	err = u.Store.PutScores(ctx, func(put func(model.EPSSScore) error) error {
		file, err = advisory.ReadEPSS(r, put)
		return err
	})
	return advisory.LoadResult{Records: file.Scores, Changed: file.Scores, Refused: file.Broken, Newest: file.Date}, err
}

// Exploited loads the KEV catalog.
func (u *Loader) Exploited(ctx context.Context, r io.Reader) (advisory.LoadResult, error) {
	file, err := advisory.ReadKEV(r)
	if err == nil {
		err = u.Store.PutExploited(ctx, file.Entries)
	}
	return advisory.LoadResult{
		Records: len(file.Entries),
		Changed: len(file.Entries),
		Refused: file.Broken,
		Newest:  file.Released,
	}, err
}
