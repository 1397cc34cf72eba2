"""A graph convolutional network: nodes of two communities are told apart by features and edges (Kipf, Welling 2017)."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

rng = np.random.RandomState(7)


class GraphConvolution(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(torch.FloatTensor(in_features, out_features))
        if bias:
            self.bias = Parameter(torch.FloatTensor(out_features))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.weight.size(1))
        for p in self.parameters():
            p.data.copy_(torch.from_numpy(rng.uniform(-stdv, stdv, tuple(p.shape))))

    def forward(self, x, edge_index, norm):
        """Sum over neighbours, each message scaled by `norm`."""
        messages = torch.mm(x, self.weight)
        source, target = edge_index
        messages = messages.index_select(0, source) * norm.unsqueeze(-1)
        out = torch.zeros(x.size(0), self.out_features).index_add_(0, target, messages)
        return out if self.bias is None else out + self.bias

    def __repr__(self):
        return f"{self.__class__.__name__}({self.in_features} -> {self.out_features})"


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1 = GraphConvolution(nfeat, nhid)
        self.gc2 = GraphConvolution(nhid, nclass)

    def forward(self, x, edge_index, norm):
        x = F.relu(self.gc1(x, edge_index, norm))
        return F.log_softmax(self.gc2(x, edge_index, norm), dim=1)


def make_graph(nodes=60, features=10):
    labels = np.arange(nodes) % 3
    likely = np.where(labels[:, None] == labels[None], 0.25, 0.03)
    adjacency = np.triu(rng.uniform(size=(nodes, nodes)) < likely, 1)
    adjacency = adjacency | adjacency.T | np.eye(nodes, dtype=bool)
    x = rng.standard_normal((nodes, features)) + np.eye(features)[labels]
    return (
        torch.tensor(x, dtype=torch.float32),
        torch.from_numpy(np.stack(np.nonzero(adjacency))),
        torch.from_numpy(labels),
    )


def main():
    x, edge_index, labels = make_graph()
    degree = torch.zeros(x.size(0)).scatter_add_(0, edge_index[1], torch.ones(edge_index.size(1)))
    deg_inv_sqrt = degree.pow(-0.5)
    norm = deg_inv_sqrt[edge_index[0]] * deg_inv_sqrt[edge_index[1]]
    train_mask = torch.arange(x.size(0)) < 40
    model = GCN(x.size(1), 16, int(labels.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)
    for epoch in range(10):
        model.train()
        optimizer.zero_grad()
        output = model(x, edge_index, norm)
        loss = F.nll_loss(output[train_mask], labels[train_mask])
        loss.backward()
        optimizer.step()
        print(f"step {epoch} loss {loss.item():.7f}")
    model.eval()
    preds = model(x, edge_index, norm).max(1)[1].type_as(labels)
    accuracy = preds[~train_mask].eq(labels[~train_mask]).double().mean()
    assert 0.0 <= accuracy <= 1.0
    assert "GraphConvolution(10 -> 16)" in repr(model)


if __name__ == "__main__":
    main()
