"""A residual network on small coloured pictures."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

rng = np.random.RandomState(6)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=4):
        super().__init__()
        self.in_planes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 16, num_blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 32, num_blocks[2], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.linear = nn.Linear(32 * block.expansion, num_classes)

    def _make_layer(self, block, planes, num_blocks, stride):
        layers = []
        for s in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, s))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        return self.linear(torch.flatten(self.avgpool(out), 1))


def make_batch(count):
    """Each class has its own mixture of colour and texture."""
    labels = rng.randint(0, 4, count)
    y, x = np.mgrid[0:16, 0:16]
    texture = np.sin((labels[:, None, None] + 1) * x * 0.5) * np.cos(labels[:, None, None] * y * 0.4)
    colour = np.eye(4)[labels][:, :3, None, None]
    images = texture[:, None] + colour + 0.5 * rng.standard_normal((count, 3, 16, 16))
    return torch.from_numpy(images).float(), torch.from_numpy(labels).long()


def main():
    net = ResNet(BasicBlock, [1, 1, 1])
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            fan_out = m.weight.size(0) * m.weight.size(2) * m.weight.size(3)
            m.weight.data.copy_(torch.from_numpy(rng.normal(0, (2 / fan_out) ** 0.5, tuple(m.weight.shape))))
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.constant_(m.weight, 1)
            nn.init.constant_(m.bias, 0)
        elif isinstance(m, nn.Linear):
            m.weight.data.copy_(torch.from_numpy(rng.uniform(-0.1, 0.1, tuple(m.weight.shape))))
            m.bias.data.zero_()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[6], gamma=0.1)
    net.train()
    for step in range(10):
        inputs, targets = make_batch(16)
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.7f}")
    net.eval()
    with torch.no_grad():
        inputs, targets = make_batch(16)
        assert net(inputs).max(1)[1].eq(targets).sum().item() >= 0


if __name__ == "__main__":
    main()
