// Package decisions has the operations on exceptions: requests, approvals and VEX documents.
package decisions
