// Package decisions implements the operations on exceptions: requests, approvals and VEX documents.
package decisions
