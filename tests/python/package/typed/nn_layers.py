"""Layers, losses and functions of nn as a user types them."""

import tandem
import tandem.nn.functional as F
from tandem import Tensor, nn
from tandem.nn.utils import clip_grad_norm_, parameters_to_vector
from tandem.nn.utils.parametrizations import weight_norm
from tandem.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence


class Picture(nn.Module):
    def __init__(self, channels: int = 3, classes: int = 5) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 8, kernel_size=(3, 3), padding="same", bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.down = nn.Conv2d(8, 8, 3, stride=2, padding=1, padding_mode="reflect")
        self.pool = nn.AdaptiveAvgPool2d((1, None))
        self.act: nn.Module = nn.LeakyReLU(0.2, inplace=True)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.head = nn.LazyLinear(classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        x = self.act(self.down(x))
        x = self.up(x, output_size=[x.size(2) * 2, x.size(3) * 2])
        x = F.max_pool2d(x, 2) + F.avg_pool2d(x, kernel_size=2)
        values, indices = F.max_pool2d(x, 2, return_indices=True)
        x = F.interpolate(F.max_unpool2d(values, indices, 2), scale_factor=2, mode="bilinear", align_corners=False)
        out: Tensor = self.head(self.pool(x).flatten(1))
        return out


class Tagger(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
        self.attention = nn.MultiheadAttention(2 * width, num_heads=2, batch_first=True)
        layer = nn.TransformerEncoderLayer(2 * width, nhead=2, dim_feedforward=16, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1)
        self.cell = nn.GRUCell(2 * width, width)

    def forward(self, tokens: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        mask = tokens == 0
        out, (h, c) = self.lstm(self.table(tokens), state)
        out, weights = self.attention(out, out, out, key_padding_mask=mask, need_weights=True)
        out = self.encoder(out, src_key_padding_mask=mask)
        hidden: Tensor = self.cell(out[:, -1], h[-1])
        return hidden, weights


def packed(sequences: list[Tensor]) -> tuple[Tensor, Tensor]:
    rows: PackedSequence = pack_sequence(sequences, enforce_sorted=False)
    out, state = nn.GRU(2, 3)(rows)
    return pad_packed_sequence(out, batch_first=True)


def losses(scores: Tensor, target: Tensor) -> list[Tensor]:
    criteria: list[nn.Module] = [
        nn.CrossEntropyLoss(label_smoothing=0.1),
        nn.NLLLoss(reduction="sum"),
        nn.MultiMarginLoss(),
    ]
    found: list[Tensor] = [criterion(scores, target) for criterion in criteria]
    found.append(F.cross_entropy(scores, target, weight=tandem.ones(scores.size(1)), ignore_index=-1))
    found.append(F.smooth_l1_loss(scores, scores + 1, beta=0.5) + F.huber_loss(scores, scores, delta=2.0))
    found.append(F.binary_cross_entropy_with_logits(scores, scores.sigmoid()))
    found.append(
        F.triplet_margin_with_distance_loss(scores, scores, scores + 1, distance_function=nn.PairwiseDistance())
    )
    found.append(nn.TripletMarginLoss(margin=0.5)(scores, scores, scores + 1))
    return found


def functions(x: Tensor) -> Tensor:
    x = F.dropout(F.pad(x, (1, 1), mode="constant", value=0.0), p=0.1, training=True)
    x = F.softmax(x, dim=-1) + F.gumbel_softmax(x, tau=0.5, hard=True) + F.normalize(x, dim=-1)
    x = F.leaky_relu_(x.clone(), 0.1) + F.elu(x) + F.hardtanh(x, -1.0, 1.0) + F.glu(tandem.cat([x, x], -1))
    x = F.layer_norm(x, x.shape[-1:]) + F.one_hot(tandem.arange(x.size(0)), num_classes=x.size(1))
    return F.cosine_similarity(x, x, dim=-1).mean() + F.adaptive_avg_pool1d(x, 1).sum()


picture = Picture()
scores = picture(tandem.randn(2, 3, 16, 16))
sum(losses(scores, tandem.tensor([0, 1])), tandem.tensor(0.0)).backward()
total: Tensor = clip_grad_norm_(picture.parameters(), max_norm=1.0)
assert total.item() > 0 and parameters_to_vector(picture.parameters()).dim() == 1
hidden, weights = Tagger(11, 4)(tandem.tensor([[1, 2, 3], [4, 5, 0]]))
assert hidden.shape == (2, 4) and weights.shape == (2, 3, 3)
padded, lengths = packed([tandem.randn(2, 2), tandem.randn(3, 2)])
assert lengths.tolist() == [2, 3]
assert functions(tandem.randn(4, 6)).dim() == 0
normed = weight_norm(nn.Linear(2, 2))
nn.init.kaiming_normal_(nn.Conv1d(2, 2, 3).weight, mode="fan_out", nonlinearity="relu")
nn.init.trunc_normal_(tandem.empty(3), std=0.02, generator=tandem.Generator().manual_seed(1))
