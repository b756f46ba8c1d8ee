package store

import (
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/check"
	"github.com/redoubt/redoubt/internal/store/exceptions"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/hosts"
	"github.com/redoubt/redoubt/internal/store/lifecycle"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/policies"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// These types of the packages below are for callers of the store.
type (
	// FindingCount is described in package check.
	FindingCount = check.FindingCount
	// ExceptionQuery is described in package exceptions.
	ExceptionQuery = exceptions.ExceptionQuery
	// FindingHistory is described in package findings.
	FindingHistory = findings.FindingHistory
	// ImpactQuery is described in package findings.
	ImpactQuery = findings.ImpactQuery
	// Occurrence is described in package findings.
	Occurrence = findings.Occurrence
	// Removal is described in package findings.
	Removal = findings.Removal
	// SnippetLocation is described in package findings.
	SnippetLocation = findings.SnippetLocation
	// TicketOrder is described in package findings.
	TicketOrder = findings.TicketOrder
	// TicketQuery is described in package findings.
	TicketQuery = findings.TicketQuery
	// ChangeComment is described in package hosts.
	ChangeComment = hosts.ChangeComment
	// ChangeReply is described in package hosts.
	ChangeReply = hosts.ChangeReply
	// CommitFacts is described in package hosts.
	CommitFacts = hosts.CommitFacts
	// Delivery is described in package hosts.
	Delivery = hosts.Delivery
	// DeliveryQuery is described in package hosts.
	DeliveryQuery = hosts.DeliveryQuery
	// Following is described in package hosts.
	Following = hosts.Following
	// RepositoryCount is described in package hosts.
	RepositoryCount = hosts.RepositoryCount
	// RepositoryQuery is described in package hosts.
	RepositoryQuery = hosts.RepositoryQuery
	// RunProgress is described in package hosts.
	RunProgress = hosts.RunProgress
	// RunQuery is described in package hosts.
	RunQuery = hosts.RunQuery
	// Sealed is described in package hosts.
	Sealed = hosts.Sealed
	// ProjectHolding is described in package lifecycle.
	ProjectHolding = lifecycle.ProjectHolding
	// Delivered is described in package notifications.
	Delivered = notifications.Delivered
	// NotificationQuery is described in package notifications.
	NotificationQuery = notifications.NotificationQuery
	// Notifying is described in package notifications.
	Notifying = notifications.Notifying
	// PolicyRuleCount is described in package policies.
	PolicyRuleCount = policies.PolicyRuleCount
	// Serving is described in package policies.
	Serving = policies.Serving
	// ProjectPatch is described in package projects.
	ProjectPatch = projects.ProjectPatch
	// ProjectQuery is described in package projects.
	ProjectQuery = projects.ProjectQuery
	// IgnoredMatch is described in package scans.
	IgnoredMatch = scans.IgnoredMatch
	// ScanChange is described in package scans.
	ScanChange = scans.ScanChange
	// ScanCursor is described in package scans.
	ScanCursor = scans.ScanCursor
	// SourceCount is described in package scans.
	SourceCount = scans.SourceCount
	// StatusUpdate is described in package scans.
	StatusUpdate = scans.StatusUpdate
	// AuditFilter is described in package sqldb.
	AuditFilter = sqldb.AuditFilter
	// Config is described in package sqldb.
	Config = sqldb.Config
	// NewerSchemaError is described in package sqldb.
	NewerSchemaError = sqldb.NewerSchemaError
	// OlderSchemaError is described in package sqldb.
	OlderSchemaError = sqldb.OlderSchemaError
)

// These constants of the packages below are for callers of the store.
const (
	MatchJob = advisories.MatchJob

	MaxBareTickets = findings.MaxBareTickets
	TicketJob      = findings.TicketJob

	FollowEvery = hosts.FollowEvery
	FollowJob   = hosts.FollowJob
	WebhookJob  = hosts.WebhookJob
	RunJob      = hosts.RunJob

	DeliverJob              = notifications.DeliverJob
	MaxNotificationsWaiting = notifications.MaxNotificationsWaiting
	NotifyJob               = notifications.NotifyJob

	ScheduleJob = projects.ScheduleJob

	RequestedJobKept = queue.RequestedJobKept

	EventNew  = scans.EventNew
	StatusJob = scans.StatusJob

	FileName = sqldb.FileName
	MaxArgs  = sqldb.MaxArgs
)
