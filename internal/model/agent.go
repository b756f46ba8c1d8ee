package model

import "time"

// AgentScan is a scan that a scanner reports by itself, step by step, as it is
// remembered between the steps.
type AgentScan struct {
	UniqueID  string // the scanner's own name of the scan
	ScanID    int64  // 0 of a dry run, which leaves no scan
	StartedAt time.Time
	Begun     []byte // JSON: what the scanner said at the start
	Report    []byte // JSON of a Report, free of secrets; nil before it came and once it is applied
	Done      []byte // JSON of its completion; nil before it came and once it is applied
	Answer    []byte // JSON: the answer to its completion; nil before it is applied
}

// ScanStage is how far a scan is that runs.
type ScanStage uint8

// Stages of a scan that runs.
const (
	StageBegun    ScanStage = iota // the scanner was told what to look for
	StageResults                   // its results are here
	StageApplying                  // they are complete and being applied
)

// ServedRule is a rule of a policy with the text that scanners get.
type ServedRule struct {
	PolicyRule
	Version int    // of the text, from 1
	Text    []byte // JSON, in the scanner's own rule language
	Checked bool   // whether the scanner itself has parsed the text
	Starter bool   // the text came with the server
}
