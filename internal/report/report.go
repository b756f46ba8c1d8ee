package report

import (
	"errors"
	"io"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// Read reads one file that is all of its upload, and nothing is known of its
// rules: see Reading, which is for all else.
func Read(r io.Reader, o Options) ([]*model.Report, error) {
	var one Reading
	if err := one.Add(r, o); err != nil {
		return nil, err
	}
	return one.Reports(nil), nil
}

// readFile reads a file into a report for each run in it, with all the secrets
// that it holds.
func readFile(r io.Reader, o Options) ([]*model.Report, error) {
	o.Limits = o.Limits.orDefault()
	if o.room == nil {
		o.room = &room{}
	}
	in, err := open(r, o)
	if err != nil {
		return nil, fileError(o, -1, err)
	}
	if o.Format == "" && !lockfile.Is(o.Name) && included(o.secrets, o) {
		o.Format = Lockfile
	}
	if o.Format == "" {
		head, err := in.head()
		if err != nil {
			return nil, fileError(o, 0, err)
		}
		if o.Format, err = Detect(o.Name, head); err != nil {
			return nil, fileError(o, -1, err)
		}
	}
	read, ok := readers[o.Format]
	if !ok {
		return nil, fileError(o, -1, errors.New("no such format; "+howToName()))
	}
	reports, err := read(in, o)
	if err == nil {
		err = in.room.err
	}
	if err == nil {
		err = allRefused(reports)
	}
	if err != nil {
		return nil, fileError(o, -1, err)
	}
	return reports, nil
}

// allRefused is the error for a file of whose source no item could be read. What VEX
// documents say is known once all files are read: ingest.Apply refuses those.
func allRefused(reports []*model.Report) error {
	says := map[stream]bool{} // something
	for _, rep := range reports {
		says[streamOf(rep)] = says[streamOf(rep)] || rep.AllRefused() == ""
	}
	for _, rep := range reports {
		if !says[streamOf(rep)] && !rep.OnlyVEX() {
			return errors.New(rep.AllRefused())
		}
	}
	return nil
}

// reader reads one format to its end.
type reader func(in *input, o Options) ([]*model.Report, error)

var readers = map[Format]reader{
	SemgrepJSON:     readSemgrep,
	SARIF:           readSARIF,
	GitleaksJSON:    readGitleaks,
	GitLabJSON:      readGitLab,
	TrivyJSON:       readTrivy,
	GrypeJSON:       readGrype,
	GovulncheckJSON: readGovulncheck,
	TruffleHogJSON:  readTruffleHog,
	OSVScannerJSON:  readOSVScanner,
	PipAuditJSON:    readPipAudit,
	NPMAuditJSON:    readNPMAudit,
	CycloneDXJSON:   readCycloneDXJSON,
	CycloneDXXML:    readCycloneDXXML,
	OpenVEXJSON:     readOpenVEX,
	SPDXJSON:        readSPDX,
	Lockfile:        readLockfile,
}
