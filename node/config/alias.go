package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// maxNodes bounds the values of a file with those that aliases repeat: aliases of aliases grow without bound.
const maxNodes = 8 << 20

// aliases replaces each alias of a file by the node of its anchor, which they share then. Merged files may use the same names.
type aliases struct {
	doc     *document
	anchors map[string]anchored
}

// anchored is an anchor's node, and the number of nodes in it.
type anchored struct {
	node ast.Node
	size int
}

// expand returns what stands in the place of n, and its size.
func (a *aliases) expand(n ast.Node) (ast.Node, int, *Error) {
	size := 1
	replace := func(at *ast.Node) *Error {
		next, more, err := a.expand(*at)
		if err != nil {
			return err
		}
		if size += more; size > maxNodes {
			return a.doc.errorAt(n.GetToken(), "", fmt.Sprintf("more than %d values with those of aliases", maxNodes))
		}
		*at = next
		return nil
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		if err := replace(&v.Value); err != nil {
			return nil, 0, err
		}
		a.anchors[v.Name.GetToken().Value] = anchored{v.Value, size}
		return v.Value, size, nil
	case *ast.AliasNode:
		name := v.Value.GetToken().Value
		known, ok := a.anchors[name]
		if !ok {
			return nil, 0, a.doc.errorAt(v.GetToken(), "", fmt.Sprintf("*%s: no anchor &%s stands before it in this file", name, name))
		}
		return known.node, known.size, nil
	case *ast.TagNode:
		return n, size, replace(&v.Value)
	case *ast.MappingNode, *ast.MappingValueNode:
		for _, kv := range pairs(n) {
			if err := replace(&kv.Value); err != nil {
				return nil, 0, err
			}
		}
	case *ast.SequenceNode:
		for i := range v.Values {
			if err := replace(&v.Values[i]); err != nil {
				return nil, 0, err
			}
		}
	}
	return n, size, nil
}
