package inventory

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// errDamagedGraph means that a graph is not output of encodeGraph.
var errDamagedGraph = sqldb.Undecoded(errors.New("the graph of a lockfile"))

// DependencyGraph returns the dependencies on a ref as AllDependencies does, and the edges between
// them.
func (tx *Tx) DependencyGraph(
	ctx context.Context, projectID int64, ref string,
) ([]model.Dependency, []model.DependencyEdge, error) {
	rows, locations, err := tx.dependenciesOn(ctx, projectID, ref)
	if err != nil {
		return nil, nil, err
	}
	ids := make(map[versionInLockfile]int64, len(rows))
	for _, r := range rows {
		ids[versionInLockfile{r.Inventory, r.Version}] = r.id
	}
	edges := []model.DependencyEdge{}
	in, arg := tx.In("inventory_id", 2, slices.Sorted(maps.Keys(locations)))
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var inventory int64
		var graph []byte
		if err := r.Scan(&inventory, &graph); err != nil {
			return err
		}
		pairs, err := decodeGraph(graph)
		for _, pair := range pairs {
			from, to := ids[versionInLockfile{inventory, pair[0]}], ids[versionInLockfile{inventory, pair[1]}]
			if from != 0 && to != 0 {
				edges = append(edges, model.DependencyEdge{From: from, To: to})
			}
		}
		return err
	}, `SELECT inventory_id, edges FROM inventory_graph WHERE deployment_id = $1 AND `+in+` ORDER BY inventory_id`, arg)
	if err != nil {
		return nil, nil, fmt.Errorf("read the dependency graph: %w", err)
	}
	list, err := tx.dependencies(ctx, rows, locations)
	return list, edges, err
}

// putInventoryGraph stores the graph of a lockfile. Edges are pairs of indexes in versions.
func (tx *Tx) putInventoryGraph(ctx context.Context, inventoryID int64, edges [][2]int, versions []int64) error {
	pairs := model.Map(edges, func(e [2]int) [2]int64 { return [2]int64{versions[e[0]], versions[e[1]]} })
	if len(pairs) == 0 {
		return tx.Write(ctx, `DELETE FROM inventory_graph WHERE deployment_id = $1 AND inventory_id = $2`, inventoryID)
	}
	return tx.Insert(ctx, `inventory_graph (deployment_id, inventory_id, edges)`, [][]any{
		{inventoryID, encodeGraph(pairs)},
	},
		`ON CONFLICT (deployment_id, inventory_id) DO UPDATE SET edges = excluded.edges`)
}

// encodeGraph encodes sorted distinct pairs as varints. For each requiring id follow its difference
// to the previous one, its number of required ids, and those as differences to the number before.
func encodeGraph(pairs [][2]int64) []byte {
	slices.SortFunc(pairs, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	pairs = slices.Compact(pairs)
	out := make([]byte, 0, 3*len(pairs))
	var before int64
	for len(pairs) > 0 {
		from := pairs[0][0]
		n := 1
		for n < len(pairs) && pairs[n][0] == from {
			n++
		}
		out = binary.AppendUvarint(out, uint64(from-before))
		out = binary.AppendUvarint(out, uint64(n))
		last := from
		for _, pair := range pairs[:n] {
			out = binary.AppendVarint(out, pair[1]-last)
			last = pair[1]
		}
		before, pairs = from, pairs[n:]
	}
	return out
}

func decodeGraph(graph []byte) ([][2]int64, error) {
	var pairs [][2]int64
	var from int64
	for len(graph) > 0 {
		step, a := binary.Uvarint(graph)
		if a <= 0 {
			return nil, errDamagedGraph
		}
		count, b := binary.Uvarint(graph[a:])
		if b <= 0 || count > uint64(len(graph)) {
			return nil, errDamagedGraph
		}
		graph = graph[a+b:]
		from += int64(step)
		last := from
		for range count {
			distance, n := binary.Varint(graph)
			if n <= 0 {
				return nil, errDamagedGraph
			}
			graph = graph[n:]
			last += distance
			pairs = append(pairs, [2]int64{from, last})
		}
	}
	return pairs, nil
}
